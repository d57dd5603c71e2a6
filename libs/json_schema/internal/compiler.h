// From the text of a schema to nodes. Private to json_schema.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "libs/json_schema/internal/keywords.h"
#include "libs/json_schema/internal/node.h"
#include "libs/json_schema/internal/references.h"

namespace cohort::json_schema {

class Compiler {
 public:
  explicit Compiler(Schema::Compiled& schema);

  /// Fills the schema with a node for every schema of the document. Throws SchemaError.
  void run();

 private:
  /// One schema of the document, as its readers see it.
  struct Source {
    const Value& schema;
    std::string base;
    std::string place;

    const Value* find(const char* key) const { return schema.find(key); }
  };

  NodeId node_of(const Value& schema, const std::string& base, const std::string& place);
  NodeId node_at(const Source& source, const char* key);
  std::vector<NodeId> nodes_at(const Source& source, const char* key);

  void compile(Node& node, const Source& source);
  void read_scalars(Node& node, const Source& source) const;
  void read_array(Node& node, const Source& source);
  void read_object(Node& node, const Source& source);
  void read_dependencies(Node& node, const Source& source);
  void read_in_place(Node& node, const Source& source);

  Schema::Compiled& schema_;
  Dialect dialect_;
  References references_;
  std::map<const Value*, NodeId> ids_;
  std::vector<Source> pending_;  // one for each node, in their order
};

/// Refuses schemas that apply themselves to the same instance again, without end. Throws SchemaError.
void check_loops(const std::deque<Node>& nodes, const std::vector<std::string>& places);

}  // namespace cohort::json_schema
