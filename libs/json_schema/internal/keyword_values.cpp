#include "libs/json_schema/internal/keyword_values.h"

#include "libs/common/excerpt.h"
#include "libs/common/str.h"
#include "libs/json_schema/internal/pattern.h"

namespace cohort::json_schema {
namespace {

struct TypeName {
  const char* name;
  uint8_t bits;
};

constexpr uint8_t bit(Value::Kind kind) { return static_cast<uint8_t>(1 << static_cast<int>(kind)); }

constexpr TypeName kTypes[] = {
    {"null", bit(Value::Kind::kNull)},
    {"boolean", bit(Value::Kind::kBoolean)},
    {"number", bit(Value::Kind::kNumber)},
    {"string", bit(Value::Kind::kString)},
    {"array", bit(Value::Kind::kArray)},
    {"object", bit(Value::Kind::kObject)},
    {"integer", kIntegerType},
};

uint8_t type_bits(const Value& name, const std::string& place) {
  for (const TypeName& type : kTypes) {
    if (name.kind == Value::Kind::kString && name.text == type.name) return type.bits;
  }
  refuse(place, "type", str("knows no ", describe(name)));
}

// Numbers beyond all sizes count as the largest.
uint64_t read_count(const Value& count, const char* keyword, const std::string& place) {
  const Decimal& number = count.number;
  if (count.kind != Value::Kind::kNumber || !number.is_integer() || number.is_negative)
    refuse(place, keyword, str("must be a whole number that is not negative, not ", describe(count)));
  if (number.is_zero()) return 0;
  constexpr int64_t kMaxDigits = 18;
  if (static_cast<int64_t>(number.digits.size()) + number.exponent > kMaxDigits) return UINT64_MAX;
  return std::stoull(number.digits + std::string(static_cast<size_t>(number.exponent), '0'));
}

}  // namespace

void refuse(const std::string& place, const std::string& keyword, const std::string& what) {
  throw SchemaError(str("schema at ", excerpt(place), ": \"", keyword, "\" ", what));
}

uint8_t read_types(const Value& schema, const std::string& place) {
  const Value* type = schema.find("type");
  if (type == nullptr) return kAnyType;
  if (type->kind != Value::Kind::kArray) return type_bits(*type, place);
  uint8_t types = 0;
  for (const Value& name : type->items) types |= type_bits(name, place);
  return types;
}

std::optional<Decimal> read_number(const Value& schema, const char* keyword, const std::string& place) {
  const Value* number = schema.find(keyword);
  if (number == nullptr) return std::nullopt;
  if (number->kind != Value::Kind::kNumber)
    refuse(place, keyword, str("must be a number, not ", describe(*number)));
  return number->number;
}

Range read_range(const Value& schema, const char* least, const char* most, const std::string& place) {
  Range range;
  if (const Value* count = schema.find(least)) range.least = read_count(*count, least, place);
  if (const Value* count = schema.find(most)) range.most = read_count(*count, most, place);
  return range;
}

Pattern read_pattern(const std::string& text, const std::string& keyword, const std::string& place) {
  try {
    return {text, Regex(to_pcre2(text))};
  } catch (const RegexError& error) {
    refuse(place, keyword, str("holds ", excerpt(text), ", ", error.what()));
  }
}

std::vector<std::string> read_texts(const Value& list, const std::string& keyword, const std::string& place) {
  if (list.kind != Value::Kind::kArray) refuse(place, keyword, "must be a list of texts");
  std::vector<std::string> texts;
  for (const Value& text : list.items) {
    if (text.kind != Value::Kind::kString) refuse(place, keyword, "must be a list of texts");
    texts.push_back(text.text);
  }
  return texts;
}

const std::vector<Member>& members_of(const Value& schema, const char* keyword, const std::string& place) {
  static const std::vector<Member> none;
  const Value* object = schema.find(keyword);
  if (object == nullptr) return none;
  if (object->kind != Value::Kind::kObject) refuse(place, keyword, "must be an object");
  return object->members;
}

}  // namespace cohort::json_schema
