// Python's operators on values of a template. What Python answers with a TypeError or ValueError is a
// TemplateError that says so, and so is any use of an undefined value that Jinja refuses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "libs/common/str.h"
#include "libs/jinja/internal/runtime.h"
#include "libs/jinja/internal/value.h"

namespace cohort::jinja {

/// "str", "list" and so on.
std::string type_name(const Value& value);

[[noreturn]] void throw_type_error(const std::string& message);

/// Throws the error of an undefined value; does nothing for any other.
void require_defined(const Value& value);

bool truth(const Value& value);

/// ==, which holds for 1, 1.0 and True.
bool equal(Runtime& runtime, const Value& left, const Value& right);

/// Whether both are the same shared object.
bool identical(const Value& left, const Value& right);

/// -1, 0 or 1; 2 beside a NaN. Throws for values that have no order.
int compare(Runtime& runtime, const Value& left, const Value& right, const char* operation);

/// `item` in `container`.
bool contains(Runtime& runtime, const Value& container, const Value& item);

bool is_hashable(const Value& value);

/// hash(): equal values have the same. Throws for what Python can't hash.
uint64_t hash_of(Runtime& runtime, const Value& value);
uint64_t hash_of(std::string_view text);

/// str() and repr(). Throw for what Python shows with an address.
std::string to_text(Runtime& runtime, const Value& value);
std::string to_repr(Runtime& runtime, const Value& value);

/// The text of a string, or str() of another value.
Value soft_text(Runtime& runtime, const Value& value);

/// len().
int64_t length_of(Runtime& runtime, const Value& value);
bool has_length(const Value& value);

/// iter().
std::shared_ptr<Iterator> iterate(Runtime& runtime, const Value& value);
bool is_iterable(const Value& value);

/// list().
std::vector<Value> items_of(Runtime& runtime, const Value& value);

/// Calls f for each item; f returns false to stop.
void for_each_item(Runtime& runtime, const Value& value, const auto& f) {
  const std::shared_ptr<Iterator> iterator = iterate(runtime, value);
  while (const std::optional<Value> item = iterator->next(runtime)) {
    runtime.step();
    if (!f(*item)) return;
  }
}

enum class BinaryOperator { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

Value binary(Runtime& runtime, BinaryOperator operation, const Value& left, const Value& right);
Value negative(const Value& value);
Value positive(const Value& value);

/// value[key] and value.name, with Jinja's fallback from one to the other; undefined when neither exists.
Value get_item(Runtime& runtime, const Value& value, const Value& key);
Value get_attribute(Runtime& runtime, const Value& value, const std::string& name);

/// value[start:stop:step]; None where a part is left out.
Value get_slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                const Value& step);

/// `format` % `arguments`.
Value format_percent(Runtime& runtime, const Value& format, const Value& arguments);

/// json.dumps() with ensure_ascii, indent, separators and sort_keys.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};
std::string to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace cohort::jinja
