// The JSON values that a schema allows, as a language.
#pragma once

#include <map>
#include <string>

#include "cohort/core/json.h"
#include "cohort/text/grammar/grammar.h"
#include "cohort/text/grammar/json_numbers.h"

namespace cohort {

/// Adds the values of one schema to a grammar. Objects have their properties in the schema's order; unless
/// "additionalProperties" is given they have no others. After a bracket, comma or colon and before a
/// closing bracket stands a space, or a line break and at most 20 spaces, or nothing.
class JsonSchemaGrammar {
 public:
  /// `schema` must outlive this. Null: objects with any members.
  JsonSchemaGrammar(Grammar& grammar, const Json& schema) : grammar_(grammar), schema_(schema) {}

  /// Paths for every value. Throws UserError naming the place in the schema and the keyword for what it
  /// cannot hold a model to.
  void add(Grammar::State from, Grammar::State to);

 private:
  using State = Grammar::State;

  void add_value(State from, const Json& schema, const std::string& where, State to);
  void add_object_schema(State from, const Json& schema, const std::string& where, State to);
  void add_typed(State from, const std::string& type, const Json& schema, const std::string& where, State to);
  void add_reference(State from, const Json& schema, const std::string& where, State to);
  void add_choices(State from, const Json& schema, const std::string& where, State to);
  void add_object(State from, const Json& schema, const std::string& where, State to);
  void add_array(State from, const Json& schema, const std::string& where, State to);
  void add_string(State from, const Json& schema, const std::string& where, State to);
  void add_number_of(State from, const std::string& type, const Json& schema, const std::string& where,
                     State to);
  void add_any(State from, State to);
  void add_any_of_type(State from, const std::string& type, State to);
  void add_space(State from, State to);
  State after_space(State from);
  State after_text(State from, const char* text);
  void add_other_key(State from, const Json& properties, State to);

  Grammar& grammar_;
  const Json& schema_;
  int depth_ = 0;                                 // of schemas within schemas, references included
  std::map<std::string, Grammar::Rule> rules_{};  // by the pointer of a reference, and by type
};

}  // namespace cohort
