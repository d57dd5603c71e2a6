#include "cohort/text/grammar/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/text/grammar/json_strings.h"
#include "cohort/text/grammar/regex.h"

namespace cohort {
namespace {

constexpr auto kTypes =
    std::to_array<std::string_view>({"object", "array", "string", "integer", "number", "boolean", "null"});

constexpr auto kAnnotations = std::to_array<std::string_view>(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format",
     "$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "strict"});

constexpr int64_t kMostItems = 1000;
constexpr int kMostDepth = 200;

[[noreturn]] void fail(const std::string& where, const std::string& why) {
  throw UserError(str(where.empty() ? "the schema" : where, ": ", why));
}

bool is_annotation(std::string_view key) {
  return key.starts_with("x-") || std::ranges::find(kAnnotations, key) != kAnnotations.end();
}

/// Throws for a keyword that is neither an annotation nor among `known`.
void check_keywords(const Json& schema, const std::string& where,
                    std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : schema.items()) {
    if (is_annotation(key) || std::ranges::find(known, key) != known.end()) continue;
    fail(where, str("\"", key, "\" cannot constrain the output here"));
  }
}

const Json* find(const Json& schema, const char* key) {
  const auto found = schema.find(key);
  return found == schema.end() ? nullptr : &*found;
}

std::optional<int64_t> count_of(const Json& schema, const char* key, const std::string& where) {
  const Json* value = find(schema, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer() || *value < 0) fail(where, str("\"", key, "\" must be a whole number"));
  return value->get<int64_t>();
}

std::string type_of(const Json& schema, const std::string& where) {
  if (schema.contains("properties") || schema.contains("additionalProperties")) return "object";
  if (schema.contains("items") || schema.contains("prefixItems")) return "array";
  if (schema.contains("pattern") || schema.contains("minLength") || schema.contains("maxLength"))
    return "string";
  check_keywords(schema, where, {});
  fail(where, "it needs a \"type\"");
}

std::optional<NumberBound> bound_of(const Json& schema, const char* inclusive, const char* exclusive,
                                    const std::string& where) {
  std::optional<NumberBound> bound;
  for (const char* key : {inclusive, exclusive}) {
    const Json* value = find(schema, key);
    if (value == nullptr) continue;
    const bool is_whole = value->is_number() && std::abs(value->get<double>()) <= 1e15 &&
                          value->get<double>() == std::floor(value->get<double>());
    if (!is_whole) fail(where, str("\"", key, "\" must be a whole number of at most 10^15"));
    if (bound) fail(where, str("give one of \"", inclusive, "\" and \"", exclusive, "\""));
    bound = {static_cast<int64_t>(value->get<double>()), key == exclusive};
  }
  return bound;
}

}  // namespace

void JsonSchemaGrammar::add(State from, State to) {
  if (schema_.is_null()) return add_any_of_type(from, "object", to);
  add_value(from, schema_, "", to);
}

void JsonSchemaGrammar::add_value(State from, const Json& schema, const std::string& where, State to) {
  if (schema == true || schema == Json::object()) return add_any(from, to);
  if (!schema.is_object()) fail(where, "a schema must be an object or true");
  if (depth_ == kMostDepth) fail(where, str("schemas are nested more than ", kMostDepth, " deep"));
  ++depth_;
  add_object_schema(from, schema, where, to);
  --depth_;
}

void JsonSchemaGrammar::add_object_schema(State from, const Json& schema, const std::string& where,
                                          State to) {
  if (schema.contains("$ref")) return add_reference(from, schema, where, to);
  if (schema.contains("const") || schema.contains("enum")) return add_choices(from, schema, where, to);
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    const Json* parts = find(schema, key);
    if (parts == nullptr) continue;
    check_keywords(schema, where, {key, "type"});
    if (!parts->is_array() || parts->empty()) fail(where, str("\"", key, "\" must be a list of schemas"));
    if (key == std::string_view("allOf") && parts->size() > 1) fail(where, "\"allOf\" may have one schema");
    for (size_t i = 0; i < parts->size(); ++i) add_value(from, (*parts)[i], str(where, "/", key, "/", i), to);
    return;
  }
  const Json* type = find(schema, "type");
  if (type == nullptr) {
    const bool is_open =
        std::ranges::all_of(schema.items(), [](const auto& item) { return is_annotation(item.key()); });
    return is_open ? add_any(from, to) : add_typed(from, type_of(schema, where), schema, where, to);
  }
  const Json types = type->is_array() ? *type : Json::array({*type});
  for (const Json& each : types) {
    const bool is_type =
        each.is_string() && std::ranges::find(kTypes, each.get_ref<const std::string&>()) != kTypes.end();
    if (!is_type) fail(where, str("\"type\" ", to_json_text(each), " is none of JSON's types"));
    add_typed(from, each.get<std::string>(), schema, where, to);
  }
}

void JsonSchemaGrammar::add_typed(State from, const std::string& type, const Json& schema,
                                  const std::string& where, State to) {
  if (type == "object") {
    add_object(from, schema, where, to);
  } else if (type == "array") {
    add_array(from, schema, where, to);
  } else if (type == "string") {
    add_string(from, schema, where, to);
  } else if (type == "integer" || type == "number") {
    add_number_of(from, type, schema, where, to);
  } else {
    add_any_of_type(from, type, to);
  }
}

// A definition is a rule of its own, which it may call itself.
void JsonSchemaGrammar::add_reference(State from, const Json& schema, const std::string& where, State to) {
  check_keywords(schema, where, {"$ref"});
  const Json& reference = schema.at("$ref");
  const std::string text = reference.is_string() ? reference.get<std::string>() : "";
  if (!text.starts_with('#')) fail(where, str("\"$ref\" ", to_json_text(reference), " must begin with #"));
  if (const auto known = rules_.find(text); known != rules_.end())
    return grammar_.add_call(from, known->second, to);
  const Json* target = nullptr;
  try {
    target = &schema_.at(Json::json_pointer(text.substr(1)));
  } catch (const Json::exception&) {
    fail(where, str("\"$ref\" ", to_json_text(reference), " names nothing in the schema"));
  }
  const Grammar::Rule rule = rules_[text] = grammar_.add_rule();
  add_value(grammar_.begin(rule), *target, text.substr(1), grammar_.end(rule));
  grammar_.add_call(from, rule, to);
}

void JsonSchemaGrammar::add_choices(State from, const Json& schema, const std::string& where, State to) {
  check_keywords(schema, where, {"const", "enum", "type"});
  const Json* one = find(schema, "const");
  const Json values = one != nullptr ? Json::array({*one}) : schema.at("enum");
  if (!values.is_array() || values.empty()) fail(where, "\"enum\" must be a list, and not empty");
  for (const Json& value : values) grammar_.add_text(from, to_json_text(value), to);
}

// Two states stand before each property: one if nothing is written yet, one if a comma comes first.
void JsonSchemaGrammar::add_object(State from, const Json& schema, const std::string& where, State to) {
  check_keywords(schema, where, {"type", "properties", "required", "additionalProperties"});
  const Json* given = find(schema, "properties");
  const Json properties = given == nullptr ? Json::object() : *given;
  if (!properties.is_object()) fail(where, "\"properties\" must be an object");
  const Json required = schema.value("required", Json::array());
  if (!required.is_array()) fail(where, "\"required\" must be a list");
  for (const Json& name : required) {
    if (!name.is_string() || !properties.contains(name.get<std::string>()))
      fail(where, str("\"required\" has ", to_json_text(name), ", which is none of its properties"));
  }
  State empty = after_space(after_text(from, "{")), filled = grammar_.add_state();
  for (const auto& [name, value] : properties.items()) {
    const State key = grammar_.add_state(), next_empty = grammar_.add_state(),
                next_filled = grammar_.add_state();
    grammar_.add_skip(empty, key);
    grammar_.add_skip(after_space(after_text(filled, ",")), key);
    const State colon = after_text(key, to_json_text(name).c_str());
    add_value(after_space(after_text(colon, ":")), value, str(where, "/properties/", name), next_filled);
    if (std::ranges::find(required, Json(name)) == required.end()) {
      grammar_.add_skip(empty, next_empty);
      grammar_.add_skip(filled, next_filled);
    }
    empty = next_empty;
    filled = next_filled;
  }
  const bool is_bare = given == nullptr && !schema.contains("additionalProperties");
  if (const Json others = schema.value("additionalProperties", Json(is_bare)); others != false) {
    const State key = grammar_.add_state(), colon = grammar_.add_state();
    grammar_.add_skip(empty, key);
    grammar_.add_skip(after_space(after_text(filled, ",")), key);
    add_other_key(key, properties, colon);
    add_value(after_space(after_text(colon, ":")), others, str(where, "/additionalProperties"), filled);
  }
  grammar_.add_text(empty, "}", to);
  grammar_.add_text(after_space(filled), "}", to);
}

void JsonSchemaGrammar::add_other_key(State from, const Json& properties, State to) {
  std::vector<std::string> names;
  for (const auto& item : properties.items()) names.push_back(item.key());
  add_string_unlike(grammar_, from, names, to);
}

void JsonSchemaGrammar::add_array(State from, const Json& schema, const std::string& where, State to) {
  check_keywords(schema, where, {"type", "items", "prefixItems", "minItems", "maxItems"});
  const Json* items = find(schema, "items");
  const Json first = schema.value("prefixItems", Json::array());
  if (!first.is_array()) fail(where, "\"prefixItems\" must be a list of schemas");
  const bool has_others = items == nullptr ? first.empty() : *items != false;
  const int64_t least = count_of(schema, "minItems", where).value_or(0);
  std::optional<int64_t> most = count_of(schema, "maxItems", where);
  if (!has_others) most = std::min(most.value_or(kMostItems), std::ssize(first));
  if (std::max(least, most.value_or(0)) > kMostItems)
    fail(where, str("a list may have ", kMostItems, " items at most"));
  if (most && *most < least) fail(where, "\"minItems\" is more than the list may have");
  const Json any = true;
  std::optional<Grammar::Rule> rule;
  const auto add_item = [&](int64_t i, State begin, State end) {
    if (i < std::ssize(first)) return add_value(begin, first[i], str(where, "/prefixItems/", i), end);
    if (!rule) {
      rule = grammar_.add_rule();
      add_value(grammar_.begin(*rule), items == nullptr ? any : *items, str(where, "/items"),
                grammar_.end(*rule));
    }
    grammar_.add_call(begin, *rule, end);
  };
  const int64_t last = most.value_or(std::max<int64_t>({least, std::ssize(first), 1}));
  State place = after_space(after_text(from, "["));
  for (int64_t i = 0; i < last; ++i) {
    if (i >= least) grammar_.add_text(i == 0 ? place : after_space(place), "]", to);
    const State next = grammar_.add_state();
    add_item(i, i == 0 ? place : after_space(after_text(place, ",")), next);
    place = next;
  }
  grammar_.add_text(last == 0 ? place : after_space(place), "]", to);
  if (!most) add_item(last, after_space(after_text(place, ",")), place);
}

void JsonSchemaGrammar::add_string(State from, const Json& schema, const std::string& where, State to) {
  check_keywords(schema, where, {"type", "minLength", "maxLength", "pattern"});
  const Json* pattern = find(schema, "pattern");
  const Json* format = find(schema, "format");
  const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
  const char* of_format =
      format != nullptr && format->is_string() ? pattern_of_format(format->get<std::string>()) : nullptr;
  if ((pattern != nullptr) + has_length + (of_format != nullptr) > 1)
    fail(where, "one of \"pattern\", \"format\" and a length can constrain a text, not several");
  if (pattern != nullptr && !pattern->is_string()) fail(where, "\"pattern\" must be a text");
  try {
    if (pattern != nullptr) return add_string_of_pattern(grammar_, from, pattern->get<std::string>(), to);
    if (of_format != nullptr) return add_string_of_pattern(grammar_, from, of_format, to);
    if (!has_length) return add_any_of_type(from, "string", to);
    const StringLimits limits{count_of(schema, "minLength", where).value_or(0),
                              count_of(schema, "maxLength", where)};
    add_string_of_length(grammar_, from, limits, to);
  } catch (const UserError& error) {
    fail(where, error.what());
  }
}

void JsonSchemaGrammar::add_number_of(State from, const std::string& type, const Json& schema,
                                      const std::string& where, State to) {
  check_keywords(schema, where, {"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"});
  NumberRange range{bound_of(schema, "minimum", "exclusiveMinimum", where),
                    bound_of(schema, "maximum", "exclusiveMaximum", where), type == "integer"};
  try {
    add_number(grammar_, from, range, to);
  } catch (const UserError& error) {
    fail(where, error.what());
  }
}

void JsonSchemaGrammar::add_any(State from, State to) {
  for (const std::string_view type : kTypes) {
    if (type != "integer") add_any_of_type(from, std::string(type), to);
  }
}

void JsonSchemaGrammar::add_any_of_type(State from, const std::string& type, State to) {
  if (const auto known = rules_.find(type); known != rules_.end())
    return grammar_.add_call(from, known->second, to);
  const Grammar::Rule rule = rules_[type] = grammar_.add_rule();
  const State begin = grammar_.begin(rule), end = grammar_.end(rule);
  static const Json any_object = {{"additionalProperties", true}}, any_array = {{"items", true}};
  if (type == "object") {
    add_object(begin, any_object, "", end);
  } else if (type == "array") {
    add_array(begin, any_array, "", end);
  } else if (type == "string") {
    add_string_of_length(grammar_, begin, {}, end);
  } else if (type == "boolean") {
    add_regex(grammar_, begin, "true|false", end);
  } else if (type == "null") {
    grammar_.add_text(begin, "null", end);
  } else {
    add_number(grammar_, begin, {.is_integer = type == "integer"}, end);
  }
  grammar_.add_call(from, rule, to);
}

void JsonSchemaGrammar::add_space(State from, State to) {
  const auto known = rules_.find("space");
  if (known != rules_.end()) return grammar_.add_call(from, known->second, to);
  const Grammar::Rule rule = rules_["space"] = grammar_.add_rule();
  add_regex(grammar_, grammar_.begin(rule), "( |\\n[ \\t]{0,20})?", grammar_.end(rule));
  grammar_.add_call(from, rule, to);
}

Grammar::State JsonSchemaGrammar::after_space(State from) {
  const State to = grammar_.add_state();
  add_space(from, to);
  return to;
}

Grammar::State JsonSchemaGrammar::after_text(State from, const char* text) {
  const State to = grammar_.add_state();
  grammar_.add_text(from, text, to);
  return to;
}

}  // namespace cohort
