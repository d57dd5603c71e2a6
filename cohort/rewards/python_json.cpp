#include "cohort/rewards/python_json.h"

#include <cmath>

#include "cohort/rewards/typed_value.h"

namespace cohort {
namespace {

std::string python_float(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0.0 ? "Infinity" : "-Infinity";
  return to_json_text(number);
}

std::string join(const Json& json) {
  std::string text;
  for (const auto& [key, entry] : json.items()) {
    if (!text.empty()) text += ",";
    if (json.is_object()) text += to_json_text(key) + ":";
    text += to_python_json(entry);
  }
  return text;
}

}  // namespace

std::string to_python_json(const Json& json) {
  if (json.is_array()) return "[" + join(json) + "]";
  if (!json.is_object()) return to_json_text(json);
  const bool is_tagged = json.size() == 1 && json.begin().value().is_string() &&
                         (json.begin().key() == "$int" || json.begin().key() == "$float");
  if (!is_tagged) return "{" + join(json) + "}";
  const TypedValue value = from_json(json);
  return value.kind == TypedValue::Kind::kInt ? value.text : python_float(value.number);
}

}  // namespace cohort
