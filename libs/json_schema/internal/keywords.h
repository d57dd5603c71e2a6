// The keywords of the dialects, and the schemas that stand in them. Private to json_schema.
#pragma once

#include <functional>
#include <string>

#include "libs/json_schema/value.h"

namespace cohort::json_schema {

enum class Form : uint8_t {
  kAnnotation,  ///< says nothing about validity
  kValue,       ///< a keyword without schemas
  kSchema,      ///< a schema
  kList,        ///< a list of schemas
  kMap,         ///< schemas by name
  kItems,       ///< a schema, or in draft-07 a list
};

enum class Dialect : uint8_t {
  kAny,  ///< the schema doesn't say: 2020-12 with the older names of draft-07
  k2020,
  k07,
};

struct Keyword {
  const char* name;
  Form form;
  Dialect dialect;  ///< the one that has it; kAny: both
};

/// Nothing for a name that is in neither dialect.
const Keyword* find_keyword(std::string_view name);

/// Refuses, by SchemaError, keywords that are unknown or of the other dialect. `place` is the schema's
/// pointer.
void check_keywords(const Value& schema, Dialect dialect, const std::string& place);

/// Calls `f(schema, pointer)` for every schema that stands directly in `schema`, whose pointer is `place`.
using OnSchema = std::function<void(const Value& schema, const std::string& place)>;
void for_each_subschema(const Value& schema, const std::string& place, const OnSchema& f);

/// `place` and one step further down.
std::string join_pointer(const std::string& place, std::string_view key);

}  // namespace cohort::json_schema
