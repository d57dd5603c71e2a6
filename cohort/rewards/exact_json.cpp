#include "cohort/rewards/exact_json.h"

#include <cmath>

#include "cohort/core/ascii.h"
#include "cohort/core/error.h"
#include "cohort/core/json_depth.h"
#include "cohort/rewards/typed_value.h"

namespace cohort {
namespace {

constexpr int kMaxDepth = 256;
constexpr size_t kSafeDigits = 18;  // of integers that 64 bits always hold

bool is_in_number(char c) {
  return is_digit(c) || std::string_view("+-.eE").find(c) != std::string_view::npos;
}

bool is_long_integer(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return number.size() > kSafeDigits && number[0] != '0' &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

// The end of the string that begins at `offset`; that of the text where it has none.
size_t skip_string(std::string_view text, size_t offset) {
  for (size_t i = offset + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

std::string tag_long_integers(std::string_view text) {
  std::string tagged;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text[i] == '"') {
      end = skip_string(text, i);
    } else if (is_digit(text[i]) || text[i] == '-') {
      while (end < text.size() && is_in_number(text[end])) ++end;
    }
    const std::string_view part = text.substr(i, end - i);
    tagged += is_long_integer(part) ? str("{\"$int\": \"", part, "\"}") : std::string(part);
    i = end;
  }
  return tagged;
}

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

Json parse_exact_json(const std::string& text) {
  if (json_too_deep_at(text, kMaxDepth) != std::string::npos) return Json(Json::value_t::discarded);
  return Json::parse(tag_long_integers(text), nullptr, false);
}

void refuse_rounded(const Json& json) {
  constexpr double kFirstRounded = 9223372036854775808.0;  // 2^63
  if (json.is_structured()) {
    for (const Json& entry : json) refuse_rounded(entry);
  } else if (json.is_number_float() && std::abs(json.get<double>()) >= kFirstRounded) {
    throw FormatError(
        str("the number ", json.dump(),
            " may have lost digits; write {\"$int\": \"DIGITS\"} or {\"$float\": \"1e20\"}, or the "
            "whole column as text"));
  }
}

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
