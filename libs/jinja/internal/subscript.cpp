// value[key], value[start:stop:step] and value.name.
#include <algorithm>
#include <limits>

#include "libs/common/str.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/methods.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// Position `index` of `size`, negative ones from the end; nothing outside.
std::optional<int64_t> position(int64_t index, int64_t size) {
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return index;
}

Value one_of_text(Runtime& runtime, const Text& text, int64_t index) {
  if (text.is_ascii()) return runtime.text(text.utf8.substr(index, 1), text.markup);
  runtime.look_through(static_cast<int64_t>(text.utf8.size()));
  const size_t start = byte_offset(text.utf8, index);
  const size_t size = byte_offset(std::string_view(text.utf8).substr(start), 1);
  return runtime.text(text.utf8.substr(start, size), text.markup);
}

/// obj[key] as Python has it; Missing where it raises a TypeError or LookupError.
Value item(Runtime& runtime, const Value& value, const Value& key) {
  if (const Dict* dict = value.get<Dict>()) {
    const Value* found = is_hashable(key) ? dict->find(runtime, key) : nullptr;
    return found == nullptr ? Value() : *found;
  }
  const auto index = key.integer();
  if (!index || !has_length(value) || value.get<DictView>() != nullptr) return {};
  const auto place = position(*index, length_of(runtime, value));
  if (!place) return {};
  if (const Text* text = value.get<Text>()) return one_of_text(runtime, *text, *place);
  if (const List* list = value.get<List>()) return list->items[*place];
  if (const Tuple* tuple = value.get<Tuple>()) return tuple->items[*place];
  const Range* range = value.get<Range>();
  return range == nullptr ? Value() : Value(range->start + range->step * *place);
}

/// getattr(): Missing where there is no such attribute, or none that the sandbox permits.
Value attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (Namespace* names = value.get_namespace()) {
    const Value* found = name.starts_with("_") ? nullptr : names->attributes.find(name);
    return found == nullptr ? Value() : *found;
  }
  if (const Callable* callable = value.get<Callable>()) return callable->attribute(runtime, name);
  if (const Range* range = value.get<Range>()) {
    if (name == "start") return range->start;
    if (name == "stop") return range->stop;
    if (name == "step") return range->step;
  }
  return find_method(value, name);
}

Value missing_attribute(Runtime& runtime, const Value& value, const std::string& name) {
  return runtime.undefined(str("'", type_name(value), " object' has no attribute '", name, "'"));
}

/// A part of a slice. Throws for what is no int and not None.
std::optional<int64_t> bound(const Value& value) {
  if (value.is_none()) return std::nullopt;
  require_defined(value);
  const auto number = value.integer();
  if (!number) throw_type_error("slice indices must be integers or None or have an __index__ method");
  return number;
}

/// What a slice takes of a sequence: `count` positions from `start` in steps.
struct Span {
  int64_t start, step, count;
};

Span resolve(const Value& start_value, const Value& stop_value, const Value& step_value, int64_t size) {
  const int64_t step = std::max(bound(step_value).value_or(1), -std::numeric_limits<int64_t>::max());
  if (step == 0) throw TemplateError("slice step cannot be zero");
  const auto clamp = [&](int64_t index) {
    if (index < 0) index = index < -size ? -1 : index + size;
    return step > 0 ? std::clamp<int64_t>(index, 0, size) : std::clamp<int64_t>(index, -1, size - 1);
  };
  const auto start_given = bound(start_value), stop_given = bound(stop_value);
  const int64_t start = start_given ? clamp(*start_given) : step > 0 ? 0 : size - 1;
  const int64_t stop = stop_given ? clamp(*stop_given) : step > 0 ? size : -1;
  return {start, step, Range{start, stop, step}.size()};
}

Value slice_text(Runtime& runtime, const Text& text, const Span& span) {
  runtime.look_through(static_cast<int64_t>(text.utf8.size()));
  if (span.step == 1) {
    const size_t begin = text.is_ascii() ? span.start : byte_offset(text.utf8, span.start);
    const std::string_view rest = std::string_view(text.utf8).substr(begin);
    const size_t size = text.is_ascii() ? span.count : byte_offset(rest, span.count);
    return runtime.text(std::string(rest.substr(0, size)), text.markup);
  }
  std::vector<std::string_view> characters;
  runtime.allocate_items(text.length, sizeof(std::string_view));
  for (std::string_view rest = text.utf8; !rest.empty();) {
    const size_t size = byte_offset(rest, 1);
    characters.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  std::string result;
  for (int64_t i = 0; i < span.count; ++i) result += characters[span.start + i * span.step];
  return runtime.text(std::move(result), text.markup);
}

std::vector<Value> slice_items(Runtime& runtime, const std::vector<Value>& items, const Span& span) {
  runtime.step(span.count);
  std::vector<Value> result;
  result.reserve(span.count);
  for (int64_t i = 0; i < span.count; ++i) result.push_back(items[span.start + i * span.step]);
  return result;
}

}  // namespace

Value get_item(Runtime& runtime, const Value& value, const Value& key) {
  require_defined(value);
  Value found = item(runtime, value, key);
  if (!found.is_missing()) return found;
  const Text* name = key.get<Text>();
  if (name == nullptr)
    return runtime.undefined(str(type_name(value), " object has no element ", to_repr(runtime, key)));
  found = attribute(runtime, value, name->utf8);
  return found.is_missing() ? missing_attribute(runtime, value, name->utf8) : found;
}

Value get_attribute(Runtime& runtime, const Value& value, const std::string& name) {
  // Python finds these even on an undefined value, and the sandbox then hides them.
  for (const char* internal : {"__class__", "__doc__", "__init__", "__str__", "__repr__", "__len__"}) {
    if (name == internal) return missing_attribute(runtime, value, name);
  }
  require_defined(value);
  Value found = attribute(runtime, value, name);
  if (!found.is_missing()) return found;
  if (const Dict* dict = value.get<Dict>(); dict != nullptr && !hides_key(name)) {
    if (const Value* entry = dict->find(name)) return *entry;
  }
  return missing_attribute(runtime, value, name);
}

Value get_slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                const Value& step) {
  require_defined(value);
  if (!has_length(value) || value.get<DictView>() != nullptr)
    throw_type_error(str("'", type_name(value), "' object is not subscriptable"));
  if (value.get<Dict>() != nullptr) throw_type_error("unhashable type: 'slice'");
  const Span span = resolve(start, stop, step, length_of(runtime, value));
  if (const Text* text = value.get<Text>()) return slice_text(runtime, *text, span);
  if (const List* list = value.get<List>()) return runtime.list(slice_items(runtime, list->items, span));
  if (const Tuple* tuple = value.get<Tuple>()) return runtime.tuple(slice_items(runtime, tuple->items, span));
  const Range& range = *value.get<Range>();
  const int64_t first = range.start + range.step * span.start;
  const int64_t step_size = range.step * span.step;
  return std::make_shared<const Range>(Range{first, first + step_size * span.count, step_size});
}

}  // namespace cohort::jinja
