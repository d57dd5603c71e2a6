#include "libs/json_schema/value.h"

#include <algorithm>

#include "libs/common/excerpt.h"
#include "libs/common/hash.h"
#include "libs/common/str.h"

namespace cohort::json_schema {

const Value* Value::find(std::string_view key) const {
  const auto place =
      std::lower_bound(members.begin(), members.end(), key,
                       [](const Member& member, std::string_view k) { return member.key < k; });
  return place != members.end() && place->key == key ? &place->value : nullptr;
}

bool is_same(const Value& left, const Value& right) {
  if (left.kind != right.kind) return false;
  switch (left.kind) {
    case Value::Kind::kNull:
      return true;
    case Value::Kind::kBoolean:
      return left.boolean == right.boolean;
    case Value::Kind::kNumber:
      return left.number == right.number;
    case Value::Kind::kString:
      return left.text == right.text;
    case Value::Kind::kArray:
      return std::equal(left.items.begin(), left.items.end(), right.items.begin(), right.items.end(),
                        is_same);
    default:
      return std::equal(
          left.members.begin(), left.members.end(), right.members.begin(), right.members.end(),
          [](const Member& a, const Member& b) { return a.key == b.key && is_same(a.value, b.value); });
  }
}

uint64_t hash_of(const Value& value) {
  const auto mix = [](uint64_t hash, uint64_t more) {
    return (hash ^ more) * 0x9E3779B97F4A7C15u + (hash >> 29);
  };
  uint64_t hash = mix(static_cast<uint64_t>(value.kind), value.boolean ? 2 : 1);
  if (value.kind == Value::Kind::kString) hash = mix(hash, fnv1a(value.text));
  if (value.kind == Value::Kind::kNumber) {
    hash = mix(mix(hash, fnv1a(value.number.digits)), static_cast<uint64_t>(value.number.exponent));
    hash = mix(hash, value.number.is_negative ? 2 : 1);
  }
  for (const Value& item : value.items) hash = mix(hash, hash_of(item));
  for (const Member& member : value.members) hash = mix(mix(hash, fnv1a(member.key)), hash_of(member.value));
  return hash;
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBoolean:
      return value.boolean ? "true" : "false";
    case Value::Kind::kNumber:
      return value.text.size() <= 40 ? value.text : str(value.text.substr(0, 40), "...");
    case Value::Kind::kString:
      return excerpt(value.text);
    case Value::Kind::kArray:
      return str("an array of ", value.items.size());
    default:
      return str("an object of ", value.members.size());
  }
}

}  // namespace cohort::json_schema
