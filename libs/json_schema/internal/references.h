// Where the $ref of a schema leads, within its document. Private to json_schema.
#pragma once

#include <map>
#include <string>

#include "libs/json_schema/value.h"

namespace cohort::json_schema {

/// Knows the $id and $anchor of every schema of a document, which must outlive it.
class References {
 public:
  /// Throws SchemaError for an $id or $anchor that is no text or is used twice.
  explicit References(const Value& document);

  struct Target {
    const Value* schema;
    std::string base;   ///< that its own references are relative to
    std::string place;  ///< its JSON pointer, from its document or the $id around it
  };

  /// The base of the whole document.
  const std::string& root_base() const { return root_base_; }

  /// The base within `schema`, given the one around it.
  static std::string base_within(const Value& schema, const std::string& base);

  /// Throws SchemaError naming `place` where the target lies outside the document, or is missing.
  Target resolve(const std::string& reference, const std::string& base, const std::string& place) const;

 private:
  void index(const Value& schema, const std::string& base, const std::string& place);
  void add(const std::string& uri, const Value& schema, const std::string& base, const std::string& place);

  std::string root_base_;
  std::map<std::string, Target> targets_;  // by URI, with "#name" for an anchor
};

}  // namespace cohort::json_schema
