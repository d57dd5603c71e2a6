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

/// How many bytes the call driver may write at most for a value that equals `value`, up to the blanks and the
/// digits that a tolerance leaves open.
size_t max_encoded_bytes(const TypedValue& value);

/// What a test's JSON says: arrays are lists or tuples, {"$float": "nan"} is a float and {"$int": "10"} an
/// integer. Throws FormatError where these hold no number.
TypedValue from_json(const Json& json);

/// How far a number may be off, as in math.isclose: by `absolute`, or by `relative` times the larger of the
/// two magnitudes.
struct Tolerance {
  double absolute = 1e-9;
  double relative = 1e-9;
  bool is_strict = false;          ///< less than `absolute`, not as much
  bool includes_integers = false;  ///< two integers may differ, too

  static Tolerance none() { return {0.0, 0.0}; }
  static Tolerance within(double absolute) { return {absolute, 0.0, false, true}; }
};

/// Python's ==, except that numbers may differ by `tolerance` and that NaN equals NaN. Integers, also when
/// they are bools, are compared exactly with each other unless the tolerance includes them. A float stands
/// for an expected integer within `absolute`, or if it rounds to the integer.
bool is_equal(const TypedValue& expected, const TypedValue& got, const Tolerance& tolerance);

/// Sorts the items of a list as Python does; false where they are neither all texts nor all numbers that
/// doubles hold.
bool sort_items(TypedValue& list);

/// Python's truth value.
bool is_truthy(const TypedValue& value);

/// As Python would write it, for messages; at most some 60 bytes.
std::string describe(const TypedValue& value);

}  // namespace cohort
