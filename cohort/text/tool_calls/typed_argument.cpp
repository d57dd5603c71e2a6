// Arguments that a format writes as plain text.
#include <charconv>
#include <cmath>

#include "cohort/core/exact_json.h"
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"
#include "libs/common/long_integers.h"

namespace cohort {
namespace {

/// The object in `object[key]`, or null.
const Json* find_object(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto place = object.find(key);
  return place != object.end() && place->is_object() ? &*place : nullptr;
}

const Json* find_schema(const Json& tools, std::string_view name, std::string_view parameter) {
  if (!tools.is_array()) return nullptr;
  for (const Json& tool : tools) {
    const Json* inner = find_object(tool, "function");
    const Json& function = inner != nullptr ? *inner : tool;
    if (!function.is_object() || function.value("name", Json()) != Json(name)) continue;
    const Json* parameters = find_object(function, "parameters");
    const Json* properties = parameters != nullptr ? find_object(*parameters, "properties") : nullptr;
    return properties != nullptr ? find_object(*properties, std::string(parameter).c_str()) : nullptr;
  }
  return nullptr;
}

/// The types that a schema allows, in its order; its choices count, too.
void add_types(const Json& schema, std::vector<std::string>& types) {
  if (!schema.is_object()) return;
  const auto add = [&](const Json& type) {
    if (type.is_string()) types.push_back(type.get<std::string>());
  };
  if (const auto type = schema.find("type"); type != schema.end()) {
    if (type->is_array()) {
      for (const Json& each : *type) add(each);
    } else {
      add(*type);
    }
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    const auto choices = schema.find(key);
    if (choices == schema.end() || !choices->is_array()) continue;
    for (const Json& choice : *choices) add_types(choice, types);
  }
  if (schema.value("nullable", Json()) == Json(true)) types.emplace_back("null");
}

bool is_integer_text(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<Json> read_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return Json(value);
}

/// The text as a value of `type`; nothing if it is none.
std::optional<Json> read_as(std::string_view text, const std::string& type) {
  const std::string_view trimmed = trim(text);
  const std::string lower = lower_case(trimmed);
  if ((type == "integer" || type == "number") && is_integer_text(trimmed)) {
    return make_integer(trimmed.starts_with('+') ? trimmed.substr(1) : trimmed);
  }
  if (type == "number") return read_number(trimmed);
  if (type == "boolean") {
    if (lower == "true" || lower == "1") return Json(true);
    if (lower == "false" || lower == "0") return Json(false);
  }
  if (type == "null" && (trimmed == "null" || trimmed == "None")) return Json();
  if (type == "object" || type == "array") {
    Json value = parse_exact_json(std::string(text));
    if (type == "object" ? value.is_object() : value.is_array()) return value;
  }
  return std::nullopt;
}

}  // namespace

Json typed_argument(std::string_view text, const Json& tools, std::string_view name,
                    std::string_view parameter) {
  std::vector<std::string> types;
  if (const Json* schema = find_schema(tools, name, parameter)) add_types(*schema, types);
  for (const std::string& type : types) {
    if (auto value = read_as(text, type)) return *std::move(value);
  }
  return Json(text);
}

}  // namespace cohort
