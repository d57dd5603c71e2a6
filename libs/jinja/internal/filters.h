// Jinja's filters, with transformers' tojson.
#pragma once

#include <string>
#include <string_view>

#include "libs/jinja/internal/ast.h"

namespace cohort::jinja {

/// Null when there is none of that name, or this engine lacks it.
Filter find_filter(std::string_view name);

/// Whether Jinja has a filter of that name.
bool is_jinja_filter(std::string_view name);

/// Throws the TemplateError for a filter that find_filter does not find.
[[noreturn]] void throw_no_filter(const std::string& name);

// The filters, by what they work on.
Filter find_text_filter(std::string_view name);
Filter find_number_filter(std::string_view name);
Filter find_sequence_filter(std::string_view name);
Filter find_selection_filter(std::string_view name);

/// One row of a table of filters.
struct FilterEntry {
  std::string_view name;
  Filter filter;
};

template <size_t N>
Filter find_in(const FilterEntry (&table)[N], std::string_view name) {
  for (const FilterEntry& entry : table) {
    if (entry.name == name) return entry.filter;
  }
  return nullptr;
}

/// What `attribute=` of a filter means: attributes with dots between, looked up one after another.
class AttributePath {
 public:
  /// None, a string or a number.
  AttributePath(Runtime& runtime, const Value& attribute);
  /// `otherwise` stands for each attribute that is undefined, unless it is Missing.
  Value of(Runtime& runtime, Value value, const Value& otherwise = {}) const;

 private:
  std::vector<Value> parts_;
};

/// `value` for comparisons that ignore case: strings in lower case.
Value ignoring_case(Runtime& runtime, const Value& value);

}  // namespace cohort::jinja
