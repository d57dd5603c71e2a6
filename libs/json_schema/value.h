// A JSON document for validation: exact numbers, every key once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/json_schema/internal/decimal.h"

namespace cohort::json_schema {

struct Member;

struct Value {
  enum class Kind : uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  Decimal number{};
  std::string text{};  ///< of a string, or of a number as it is written
  std::vector<Value> items{};
  std::vector<Member> members;  ///< in the order of their keys, which differ

  /// The member's value, or nullptr.
  const Value* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Value value;
};

constexpr int kMaxDepth = 100;
constexpr size_t kMaxBytes = size_t{1} << 20;

/// Reads a whole text of RFC 8259. Where it is something else, has a key twice in an object or passes a
/// limit, nothing, and `fault` says what and at which byte.
std::optional<Value> read_value(std::string_view text, std::string& fault);

/// Equal as JSON Schema has it: 1 is 1.0 and not true, and the order of keys does not count.
bool is_same(const Value& left, const Value& right);

/// The same for equal values.
uint64_t hash_of(const Value& value);

/// For messages: a scalar as it is written, or "an array of 3".
std::string describe(const Value& value);

}  // namespace cohort::json_schema
