// Readers of keywords' values. Private to json_schema. All throw SchemaError naming `place` and the keyword
// for a value that the keyword does not take; nothing, or what is neutral, where the keyword is missing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libs/json_schema/internal/node.h"

namespace cohort::json_schema {

[[noreturn]] void refuse(const std::string& place, const std::string& keyword, const std::string& what);

uint8_t read_types(const Value& schema, const std::string& place);

std::optional<Decimal> read_number(const Value& schema, const char* keyword, const std::string& place);

/// What the keywords for the smallest and the largest number allow.
Range read_range(const Value& schema, const char* least, const char* most, const std::string& place);

Pattern read_pattern(const std::string& text, const std::string& keyword, const std::string& place);

std::vector<std::string> read_texts(const Value& list, const std::string& keyword, const std::string& place);

/// The members of a keyword that takes an object.
const std::vector<Member>& members_of(const Value& schema, const char* keyword, const std::string& place);

}  // namespace cohort::json_schema
