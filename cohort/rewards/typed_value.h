// A Python value as it comes back from a call or stands in a test, and Python's == on it. Values are data
// here: no object of the program takes part in the comparison.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

struct TypedValue {
  enum class Kind {
    kNone,
    kBool,
    kInt,
    kFloat,
    kComplex,  ///< `number` and `imaginary`
    kString,
    kBytes,
    kList,
    kTuple,
    kSequence,  ///< a JSON array of a test: a list or a tuple
    kSet,
    kDict,   ///< `items` holds keys and values in turn
    kOther,  ///< of a type that no test can expect; `text` names it
  };

  Kind kind = Kind::kNone;
  std::string text{};   ///< kInt: its decimal digits; kString and kBytes: the bytes
  double number = 0.0;  ///< kFloat; kBool: 0 or 1
  double imaginary = 0.0;
  std::vector<TypedValue> items{};

  static TypedValue of_bool(bool value) { return {.kind = Kind::kBool, .number = value ? 1.0 : 0.0}; }
  static TypedValue of_float(double value) { return {.kind = Kind::kFloat, .number = value}; }
  static TypedValue of_int(std::string digits) { return {.kind = Kind::kInt, .text = std::move(digits)}; }
  static TypedValue of_string(std::string value) { return {.kind = Kind::kString, .text = std::move(value)}; }
};

constexpr int kMaxTypedDepth = 100;

/// Reads what the call driver wrote; nothing for other bytes, and for values nested too deeply.
std::optional<TypedValue> read_typed_value(std::string_view bytes);

/// What a test's JSON says: arrays are lists or tuples, {"$float": "nan"} (or "inf", "-inf") a float.
TypedValue from_json(const Json& json);

/// Python's ==, except that floats may differ by `tolerance`, absolutely or relative to the larger one, and
/// that NaN equals NaN. Integers, also when they are bools, are compared exactly with each other.
bool is_equal(const TypedValue& expected, const TypedValue& got, double tolerance);

/// Python's truth value.
bool is_truthy(const TypedValue& value);

/// As Python would write it, for messages; at most some 60 bytes.
std::string describe(const TypedValue& value);

}  // namespace cohort
