#include "libs/jinja/internal/filters.h"

#include <algorithm>
#include <charconv>

#include "libs/common/str.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {

Filter find_filter(std::string_view name) {
  for (const auto find :
       {find_text_filter, find_number_filter, find_sequence_filter, find_selection_filter}) {
    if (const Filter filter = find(name)) return filter;
  }
  return nullptr;
}

bool is_jinja_filter(std::string_view name) {
  static constexpr std::string_view kLacking[] = {"filesizeformat", "groupby",   "pprint", "random",
                                                  "striptags",      "urlencode", "urlize", "wordcount",
                                                  "wordwrap",       "xmlattr"};
  return find_filter(name) != nullptr ||
         std::find(std::begin(kLacking), std::end(kLacking), name) != std::end(kLacking);
}

void throw_no_filter(const std::string& name) {
  if (is_jinja_filter(name))
    throw TemplateError(str("the filter '", name, "' is not supported in chat templates"));
  throw TemplateError(str("No filter named '", name, "' found."));
}

AttributePath::AttributePath(Runtime& runtime, const Value& attribute) {
  if (attribute.is_none() || attribute.is_missing()) return;
  const Text* text = attribute.get<Text>();
  if (text == nullptr) {
    parts_.push_back(attribute);
    return;
  }
  for (const std::string_view part : split_at(text->utf8, ".", -1)) {
    int64_t index = 0;
    const auto result = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool digits = !part.empty() && part[0] != '-' && result.ec == std::errc() &&
                        result.ptr == part.data() + part.size();
    parts_.push_back(digits ? Value(index) : runtime.text(std::string(part)));
  }
}

Value AttributePath::of(Runtime& runtime, Value value, const Value& otherwise) const {
  for (const Value& part : parts_) {
    value = get_item(runtime, value, part);
    if (value.is_undefined() && !otherwise.is_missing()) value = otherwise;
  }
  return value;
}

Value ignoring_case(Runtime& runtime, const Value& value) {
  const Text* text = value.get<Text>();
  if (text == nullptr) return value;
  runtime.look_through(static_cast<int64_t>(text->utf8.size()));
  return runtime.text(to_lower(text->utf8));
}

}  // namespace cohort::jinja
