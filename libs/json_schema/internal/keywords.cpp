#include "libs/json_schema/internal/keywords.h"

#include <algorithm>

#include "libs/common/excerpt.h"
#include "libs/common/nearest.h"
#include "libs/common/str.h"
#include "libs/json_schema/schema.h"

namespace cohort::json_schema {
namespace {

constexpr Keyword kKeywords[] = {
    {"$schema", Form::kAnnotation, Dialect::kAny},
    {"$comment", Form::kAnnotation, Dialect::kAny},
    {"title", Form::kAnnotation, Dialect::kAny},
    {"description", Form::kAnnotation, Dialect::kAny},
    {"default", Form::kAnnotation, Dialect::kAny},
    {"example", Form::kAnnotation, Dialect::kAny},
    {"examples", Form::kAnnotation, Dialect::kAny},
    {"deprecated", Form::kAnnotation, Dialect::kAny},
    {"readOnly", Form::kAnnotation, Dialect::kAny},
    {"writeOnly", Form::kAnnotation, Dialect::kAny},
    {"format", Form::kAnnotation, Dialect::kAny},
    {"contentEncoding", Form::kAnnotation, Dialect::kAny},
    {"contentMediaType", Form::kAnnotation, Dialect::kAny},
    {"contentSchema", Form::kAnnotation, Dialect::kAny},
    {"$id", Form::kValue, Dialect::kAny},
    {"$anchor", Form::kValue, Dialect::k2020},
    {"$ref", Form::kValue, Dialect::kAny},
    {"$defs", Form::kMap, Dialect::kAny},
    {"definitions", Form::kMap, Dialect::kAny},
    {"type", Form::kValue, Dialect::kAny},
    {"enum", Form::kValue, Dialect::kAny},
    {"const", Form::kValue, Dialect::kAny},
    {"minimum", Form::kValue, Dialect::kAny},
    {"maximum", Form::kValue, Dialect::kAny},
    {"exclusiveMinimum", Form::kValue, Dialect::kAny},
    {"exclusiveMaximum", Form::kValue, Dialect::kAny},
    {"multipleOf", Form::kValue, Dialect::kAny},
    {"minLength", Form::kValue, Dialect::kAny},
    {"maxLength", Form::kValue, Dialect::kAny},
    {"pattern", Form::kValue, Dialect::kAny},
    {"minItems", Form::kValue, Dialect::kAny},
    {"maxItems", Form::kValue, Dialect::kAny},
    {"uniqueItems", Form::kValue, Dialect::kAny},
    {"prefixItems", Form::kList, Dialect::k2020},
    {"items", Form::kItems, Dialect::kAny},
    {"additionalItems", Form::kSchema, Dialect::k07},
    {"contains", Form::kSchema, Dialect::kAny},
    {"minContains", Form::kValue, Dialect::k2020},
    {"maxContains", Form::kValue, Dialect::k2020},
    {"unevaluatedItems", Form::kSchema, Dialect::k2020},
    {"minProperties", Form::kValue, Dialect::kAny},
    {"maxProperties", Form::kValue, Dialect::kAny},
    {"required", Form::kValue, Dialect::kAny},
    {"properties", Form::kMap, Dialect::kAny},
    {"patternProperties", Form::kMap, Dialect::kAny},
    {"additionalProperties", Form::kSchema, Dialect::kAny},
    {"propertyNames", Form::kSchema, Dialect::kAny},
    {"unevaluatedProperties", Form::kSchema, Dialect::k2020},
    {"dependentRequired", Form::kValue, Dialect::k2020},
    {"dependentSchemas", Form::kMap, Dialect::k2020},
    {"dependencies", Form::kMap, Dialect::k07},
    {"allOf", Form::kList, Dialect::kAny},
    {"anyOf", Form::kList, Dialect::kAny},
    {"oneOf", Form::kList, Dialect::kAny},
    {"not", Form::kSchema, Dialect::kAny},
    {"if", Form::kSchema, Dialect::kAny},
    {"then", Form::kSchema, Dialect::kAny},
    {"else", Form::kSchema, Dialect::kAny},
};

std::vector<std::string> keyword_names() {
  std::vector<std::string> names;
  for (const Keyword& keyword : kKeywords) names.emplace_back(keyword.name);
  return names;
}

[[noreturn]] void refuse_unknown(const std::string& name, const std::string& place) {
  throw SchemaError(str("schema at ", excerpt(place), ": unknown keyword ", excerpt(name),
                        "; did you mean \"", nearest_name(name.substr(0, 40), keyword_names()),
                        "\"? Names of notes begin with x-"));
}

// Next to a $ref draft-07 ignores whatever else the schema says.
void check_reference(const Value& schema, const std::string& place) {
  if (schema.find("$ref") == nullptr) return;
  for (const Member& member : schema.members) {
    const Keyword* keyword = find_keyword(member.key);
    const bool is_ignored = keyword != nullptr && keyword->form != Form::kAnnotation &&
                            member.key != "$ref" && member.key != "$defs" && member.key != "definitions";
    if (!is_ignored) continue;
    throw SchemaError(str("schema at ", excerpt(place), ": draft-07 ignores \"", member.key,
                          "\" next to $ref; put both into an allOf"));
  }
}

}  // namespace

const Keyword* find_keyword(std::string_view name) {
  const auto found = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                  [&](const Keyword& keyword) { return name == keyword.name; });
  return found == std::end(kKeywords) ? nullptr : found;
}

void check_keywords(const Value& schema, Dialect dialect, const std::string& place) {
  for (const Member& member : schema.members) {
    if (member.key.starts_with("x-")) continue;
    const Keyword* keyword = find_keyword(member.key);
    if (keyword == nullptr) refuse_unknown(member.key, place);
    const bool is_list = keyword->form == Form::kItems && member.value.kind == Value::Kind::kArray;
    const Dialect needed = is_list ? Dialect::k07 : keyword->dialect;
    if (dialect == Dialect::kAny || needed == Dialect::kAny || needed == dialect) continue;
    throw SchemaError(str("schema at ", excerpt(place), ": \"", member.key, is_list ? "\" as a list" : "\"",
                          " is of ", needed == Dialect::k07 ? "draft-07" : "draft 2020-12",
                          " and has no effect in the dialect that $schema names"));
  }
  if (dialect == Dialect::k07) check_reference(schema, place);
}

void for_each_subschema(const Value& schema, const std::string& place, const OnSchema& f) {
  for (const Member& member : schema.members) {
    const Keyword* keyword = find_keyword(member.key);
    if (keyword == nullptr) continue;
    const std::string here = join_pointer(place, member.key);
    const Value& value = member.value;
    const bool is_list = value.kind == Value::Kind::kArray;
    if (keyword->form == Form::kSchema || (keyword->form == Form::kItems && !is_list)) f(value, here);
    if (keyword->form == Form::kList || (keyword->form == Form::kItems && is_list)) {
      for (size_t i = 0; i < value.items.size(); ++i)
        f(value.items[i], join_pointer(here, std::to_string(i)));
    }
    if (keyword->form != Form::kMap) continue;
    for (const Member& entry : value.members) {
      // Of `dependencies` some may be lists of keys.
      if (entry.value.kind != Value::Kind::kArray) f(entry.value, join_pointer(here, entry.key));
    }
  }
}

std::string join_pointer(const std::string& place, std::string_view key) {
  std::string result = place + "/";
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace cohort::json_schema
