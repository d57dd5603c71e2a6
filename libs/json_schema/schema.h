// A JSON Schema, read once and ready to validate with: draft 2020-12 and draft-07. With value.h the only door
// to this library.
//
// What the schema says and this code does not know is an error that names it, so that no condition is dropped
// in silence. Only annotations (title, description, default, format, names that begin with x-, ...) pass.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "libs/json_schema/value.h"

namespace cohort::json_schema {

/// One line that names the place in the schema and the keyword.
class SchemaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Immutable; any number of threads may validate with one.
class Schema {
 public:
  struct Compiled;

  /// Throws SchemaError naming the place and the keyword for what is no schema of the dialects above.
  explicit Schema(Value document);
  ~Schema();

  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  /// For the library itself.
  const Compiled& compiled() const { return *compiled_; }

 private:
  std::unique_ptr<const Compiled> compiled_;
};

/// Why `instance` is not valid, beginning with the JSON pointer of what is wrong; nothing where it is valid.
std::optional<std::string> find_fault(const Schema& schema, const Value& instance);

}  // namespace cohort::json_schema
