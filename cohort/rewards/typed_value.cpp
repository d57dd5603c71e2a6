#include "cohort/rewards/typed_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "cohort/core/error.h"
#include "cohort/core/json_depth.h"
#include "libs/common/excerpt.h"
#include "libs/common/long_integers.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

using Kind = TypedValue::Kind;

bool is_number(const TypedValue& value) {
  return value.kind == Kind::kBool || value.kind == Kind::kInt || value.kind == Kind::kFloat;
}

bool is_whole(const TypedValue& value) { return value.kind == Kind::kBool || value.kind == Kind::kInt; }

double to_double(const TypedValue& value) {
  return value.kind == Kind::kInt ? strtod(value.text.c_str(), nullptr) : value.number;
}

std::string digits_of(const TypedValue& value) {
  return value.kind == Kind::kBool ? (value.number != 0.0 ? "1" : "0") : value.text;
}

bool is_within(double distance, double size, const Tolerance& tolerance) {
  if (tolerance.is_strict ? distance < tolerance.absolute : distance <= tolerance.absolute) return true;
  return distance <= tolerance.relative * size;
}

bool are_close(double expected, double got, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (expected == got) return true;
  if (std::isinf(expected) || std::isinf(got)) return false;
  return is_within(std::abs(expected - got), std::max(std::abs(expected), std::abs(got)), tolerance);
}

constexpr size_t kMaxDoubleDigits = 320;  // before the point

// Does the float `number` stand for the integer `digits`? A relative tolerance would take 1e20 for 10 ** 20
// + 1.
bool rounds_to(double number, const std::string& digits) {
  char rounded[kMaxDoubleDigits];
  snprintf(rounded, sizeof(rounded), "%.0f", number);
  return rounded == digits;
}

bool is_float_of(const TypedValue& whole, double number, Tolerance tolerance) {
  constexpr double kExact = 9007199254740992.0;  // 2 ** 53: doubles hold all integers below
  if (tolerance.includes_integers || rounds_to(number, digits_of(whole)))
    return are_close(to_double(whole), number, tolerance);
  tolerance.relative = 0.0;
  return std::abs(number) < kExact && are_close(to_double(whole), number, tolerance);
}

bool are_numbers_equal(const TypedValue& expected, const TypedValue& got, const Tolerance& tolerance) {
  if (is_whole(expected) && is_whole(got)) {
    if (digits_of(expected) == digits_of(got)) return true;
    // Integers that differ are at least 1 apart, whatever is left of that in floating point.
    const double left = to_double(expected), right = to_double(got);
    return tolerance.includes_integers && std::isfinite(left) && std::isfinite(right) &&
           is_within(std::max(1.0, std::abs(left - right)), std::max(std::abs(left), std::abs(right)),
                     tolerance);
  }
  if (is_whole(expected)) return is_float_of(expected, got.number, tolerance);
  return are_close(expected.number, to_double(got), tolerance);
}

// Equal texts for what Python's sets and dicts hold to be the same: 1, 1.0 and True.
std::string canonical(const TypedValue& value) {
  if (is_whole(value)) return "n" + digits_of(value);
  if (value.kind == Kind::kFloat) {
    char digits[kMaxDoubleDigits];
    const bool is_integer = std::isfinite(value.number) && std::floor(value.number) == value.number;
    // 0.0 takes the sign of -0.0 away.
    snprintf(digits, sizeof(digits), is_integer ? "n%.0f" : "f%a", value.number + 0.0);
    return digits;
  }
  std::vector<std::string> parts;
  parts.reserve(value.items.size());
  for (const TypedValue& item : value.items) parts.push_back(canonical(item));
  if (value.kind == Kind::kSet) std::sort(parts.begin(), parts.end());
  const Kind kind = value.kind == Kind::kSequence ? Kind::kTuple : value.kind;  // a list can't be a member
  std::string text = str(static_cast<int>(kind), ":", value.text.size(), ":", value.text, "(");
  for (const std::string& part : parts) text += str(part.size(), ":", part);
  return text + ")";
}

bool are_items_equal(const TypedValue& expected, const TypedValue& got, const Tolerance& tolerance) {
  if (expected.items.size() != got.items.size()) return false;
  for (size_t i = 0; i < expected.items.size(); ++i) {
    if (!is_equal(expected.items[i], got.items[i], tolerance)) return false;
  }
  return true;
}

std::vector<std::pair<std::string, const TypedValue*>> sorted_entries(const TypedValue& dict) {
  std::vector<std::pair<std::string, const TypedValue*>> entries;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    entries.emplace_back(canonical(dict.items[i]), &dict.items[i + 1]);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool are_dicts_equal(const TypedValue& expected, const TypedValue& got, const Tolerance& tolerance) {
  const auto wanted = sorted_entries(expected), found = sorted_entries(got);
  return std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(),
                    [&](const auto& left, const auto& right) {
                      return left.first == right.first && is_equal(*left.second, *right.second, tolerance);
                    });
}

std::optional<TypedValue> read_node(const Json& json);

bool read_items(const Json& list, TypedValue& value) {
  if (!list.is_array()) return false;
  for (const Json& entry : list) {
    std::optional<TypedValue> item = read_node(entry);
    if (!item) return false;
    value.items.push_back(std::move(*item));
  }
  return true;
}

bool is_decimal(const std::string& text) {
  const size_t first = text.starts_with("-") ? 1 : 0;
  return text.size() > first && text.find_first_not_of("0123456789", first) == std::string::npos;
}

double read_double(const std::string& text) { return strtod(text.c_str(), nullptr); }

// What {"TAG": "text"} holds.
const std::string* find_tagged(const Json& json, const char* tag) {
  if (!json.is_object() || json.size() != 1 || json.begin().key() != tag) return nullptr;
  return json.begin().value().get_ptr<const std::string*>();
}

TypedValue float_of(const std::string& text) {
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size())
    throw FormatError(str("{\"$float\": ", excerpt(text), "} holds no number"));
  return TypedValue::of_float(number);
}

TypedValue int_of(const std::string& text) {
  const bool is_plain = text == "0" || (is_decimal(text) && text[text[0] == '-' ? 1 : 0] != '0');
  if (!is_plain) throw FormatError(str("{\"$int\": ", excerpt(text), "} holds no integer"));
  return TypedValue::of_int(text);
}

// A scalar, written as {"TAG": "text"}.
std::optional<TypedValue> read_scalar(const std::string& tag, const std::string& text) {
  if (tag == "i" && is_decimal(text)) return TypedValue::of_int(text);
  if (tag == "f") return TypedValue::of_float(read_double(text));
  if (tag == "s") return TypedValue::of_string(text);
  if (tag == "b") return TypedValue{.kind = Kind::kBytes, .text = text};
  if (tag == "?") return TypedValue{.kind = Kind::kOther, .text = text};
  if (tag != "c") return std::nullopt;
  const size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return TypedValue{.kind = Kind::kComplex,
                    .number = read_double(text.substr(0, space)),
                    .imaginary = read_double(text.substr(space + 1))};
}

std::optional<TypedValue> read_node(const Json& json) {
  if (json.is_null()) return TypedValue{};
  if (json.is_boolean()) return TypedValue::of_bool(json.get<bool>());
  if (!json.is_object() || json.size() != 1) return std::nullopt;
  const std::string tag = json.begin().key();
  const Json& content = json.begin().value();
  if (content.is_string()) return read_scalar(tag, content.get<std::string>());
  TypedValue value;
  if (tag == "l") value.kind = Kind::kList;
  if (tag == "t") value.kind = Kind::kTuple;
  if (tag == "S") value.kind = Kind::kSet;
  if (tag == "d") value.kind = Kind::kDict;
  const bool is_known = value.kind != Kind::kNone && read_items(content, value);
  if (!is_known || (value.kind == Kind::kDict && value.items.size() % 2 != 0)) return std::nullopt;
  return value;
}

std::string join(const TypedValue& value, const char* open, const char* close) {
  std::string text = open;
  constexpr size_t kEnough = 80;
  for (size_t i = 0; i < value.items.size() && text.size() < kEnough; ++i) {
    if (i > 0) text += value.kind == Kind::kDict && i % 2 == 1 ? ": " : ", ";
    text += describe(value.items[i]);
  }
  return text + close;
}

// With the digits that tell it from every other float.
std::string describe_float(double number) {
  char digits[32];
  return {digits, std::to_chars(digits, std::end(digits), number).ptr};
}

std::string describe_all(const TypedValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.number != 0.0 ? "True" : "False";
    case Kind::kInt:
      return value.text;
    case Kind::kFloat:
      return describe_float(value.number);
    case Kind::kComplex:
      return str("(", describe_float(value.number), "+", describe_float(value.imaginary), "j)");
    case Kind::kString:
      return excerpt(value.text);
    case Kind::kBytes:
      return "bytes " + value.text;
    case Kind::kList:
    case Kind::kSequence:
      return join(value, "[", "]");
    case Kind::kTuple:
      return join(value, "(", ")");
    case Kind::kSet:
    case Kind::kDict:
      return join(value, "{", "}");
    default:
      return "an object of type " + excerpt(value.text);
  }
}

}  // namespace

std::optional<TypedValue> read_typed_value(std::string_view bytes) {
  // Each level of a value is two of JSON.
  if (json_too_deep_at(bytes, 2 * kMaxTypedDepth) != std::string_view::npos) return std::nullopt;
  const Json json = Json::parse(bytes, nullptr, false);
  return json.is_discarded() ? std::nullopt : read_node(json);
}

size_t max_encoded_bytes(const TypedValue& value) {
  constexpr size_t kAround = 80;  // the tag, the separator, and two floats, which a complex number has
  constexpr size_t kPerByte = 6;  // as \u0000
  size_t bytes = kAround + kPerByte * value.text.size();
  for (const TypedValue& item : value.items) bytes += max_encoded_bytes(item);
  return bytes;
}

TypedValue from_json(const Json& json) {
  if (json.is_boolean()) return TypedValue::of_bool(json.get<bool>());
  if (json.is_number_integer()) return TypedValue::of_int(json.dump());
  if (is_long_integer(json)) return TypedValue::of_int(std::string(long_integer_digits(json)));
  if (json.is_number()) return TypedValue::of_float(json.get<double>());
  if (json.is_string()) return TypedValue::of_string(json.get<std::string>());
  TypedValue value;
  if (json.is_array()) {
    value.kind = Kind::kSequence;
    for (const Json& entry : json) value.items.push_back(from_json(entry));
  } else if (json.is_object()) {
    if (const std::string* text = find_tagged(json, "$float")) return float_of(*text);
    if (const std::string* text = find_tagged(json, "$int")) return int_of(*text);
    value.kind = Kind::kDict;
    for (const auto& [key, entry] : json.items()) {
      value.items.push_back(TypedValue::of_string(key));
      value.items.push_back(from_json(entry));
    }
  }
  return value;
}

bool is_equal(const TypedValue& expected, const TypedValue& got, const Tolerance& tolerance) {
  if (is_number(expected) && is_number(got)) return are_numbers_equal(expected, got, tolerance);
  if (expected.kind == Kind::kSequence) {
    const bool is_sequence = got.kind == Kind::kList || got.kind == Kind::kTuple;
    return is_sequence && are_items_equal(expected, got, tolerance);
  }
  if (expected.kind != got.kind) return false;
  switch (expected.kind) {
    case Kind::kOther:
      return false;
    case Kind::kSet:
      return canonical(expected) == canonical(got);
    case Kind::kDict:
      return are_dicts_equal(expected, got, tolerance);
    case Kind::kComplex:
      return are_close(expected.number, got.number, tolerance) &&
             are_close(expected.imaginary, got.imaginary, tolerance);
    default:
      return expected.text == got.text && are_items_equal(expected, got, tolerance);
  }
}

bool sort_items(TypedValue& list) {
  constexpr size_t kMaxDigits = 15;  // of integers that doubles hold
  const auto is_text = [](const TypedValue& item) { return item.kind == Kind::kString; };
  const auto is_plain = [](const TypedValue& item) {
    return (item.kind == Kind::kInt && item.text.size() <= kMaxDigits) ||
           (item.kind == Kind::kFloat && !std::isnan(item.number));
  };
  const bool are_texts = std::all_of(list.items.begin(), list.items.end(), is_text);
  if (!are_texts && !std::all_of(list.items.begin(), list.items.end(), is_plain)) return false;
  std::stable_sort(list.items.begin(), list.items.end(),
                   [&](const TypedValue& left, const TypedValue& right) {
                     return are_texts ? left.text < right.text : to_double(left) < to_double(right);
                   });
  return true;
}

bool is_truthy(const TypedValue& value) {
  switch (value.kind) {
    case Kind::kNone:
    case Kind::kOther:  // an object of the program's own: its word is not taken
      return false;
    case Kind::kInt:
      return value.text != "0";
    case Kind::kBool:
    case Kind::kFloat:
    case Kind::kComplex:
      return value.number != 0.0 || value.imaginary != 0.0;
    case Kind::kString:
    case Kind::kBytes:
      return !value.text.empty();
    default:
      return !value.items.empty();
  }
}

std::string describe(const TypedValue& value) {
  constexpr size_t kMaxBytes = 80;
  std::string text = describe_all(value);
  if (text.size() > kMaxBytes) text = text.substr(0, kMaxBytes) + "...";
  return text;
}

}  // namespace cohort
