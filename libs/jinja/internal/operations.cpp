#include "libs/jinja/internal/operations.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "libs/common/str.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

template <typename Items>
bool equal_items(Runtime& runtime, const Items& left, const Items& right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!equal(runtime, left[i], right[i])) return false;
  }
  return true;
}

bool equal_dicts(Runtime& runtime, const Dict& left, const Dict& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* other = right.find(runtime, key);
    if (other == nullptr || !equal(runtime, value, *other)) return false;
  }
  return true;
}

bool equal_ranges(const Range& left, const Range& right) {
  const int64_t size = left.size();
  return size == right.size() &&
         (size == 0 || (left.start == right.start && (size == 1 || left.step == right.step)));
}

/// An int against a float without rounding the int.
int compare_numbers(const Value& left, const Value& right) {
  const auto a = left.integer(), b = right.integer();
  if (a && b) return *a < *b ? -1 : *a > *b;
  if (left.is_whole() && right.is_whole())
    return BigInteger::compare(*left.big_integer(), *right.big_integer());
  const long double x = a ? static_cast<long double>(*a) : *left.number();
  const long double y = b ? static_cast<long double>(*b) : *right.number();
  return x < y ? -1 : x > y;
}

template <typename Items>
int compare_items(Runtime& runtime, const Items& left, const Items& right, const char* operation) {
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (!equal(runtime, left[i], right[i])) return compare(runtime, left[i], right[i], operation);
  }
  return left.size() < right.size() ? -1 : left.size() > right.size();
}

bool contains_text(Runtime& runtime, const Text& container, const Value& item) {
  const Text* part = item.get<Text>();
  if (part == nullptr)
    throw_type_error("'in <string>' requires string as left operand, not " + type_name(item));
  runtime.step(static_cast<int64_t>(container.utf8.size() + part->utf8.size()) / 16);
  return part->utf8.empty() || count_occurrences(container.utf8, part->utf8) > 0;
}

}  // namespace

void throw_type_error(const std::string& message) { throw TemplateError(message); }

void require_defined(const Value& value) {
  if (const Undefined* undefined = value.get<Undefined>()) throw TemplateError(undefined->message);
}

std::string type_name(const Value& value) {
  static constexpr const char* kNames[] = {"missing",   "NoneType", "bool",      "int",  "float", "Undefined",
                                           "str",       "list",     "tuple",     "dict", "range", "dict view",
                                           "generator", "function", "Namespace", "int"};
  return kNames[value.data().index()];
}

bool truth(const Value& value) {
  if (value.is_none() || value.is_undefined() || value.is_missing()) return false;
  if (const auto number = value.number()) return *number != 0;
  if (const Text* text = value.get<Text>()) return !text->utf8.empty();
  if (const List* list = value.get<List>()) return !list->items.empty();
  if (const Tuple* tuple = value.get<Tuple>()) return !tuple->items.empty();
  if (const Dict* dict = value.get<Dict>()) return dict->size() > 0;
  if (const DictView* view = value.get<DictView>()) return view->dict->size() > 0;
  if (const Range* range = value.get<Range>()) return range->size() > 0;
  return true;
}

bool equal(Runtime& runtime, const Value& left, const Value& right) {
  runtime.step();
  if (left.number() && right.number()) {
    if (left.is_float() && std::isnan(*left.number())) return false;
    if (right.is_float() && std::isnan(*right.number())) return false;
    return compare_numbers(left, right) == 0;
  }
  if (left.data().index() != right.data().index()) return false;
  if (left.is_none() || left.is_undefined()) return true;
  if (const Text* text = left.get<Text>()) {
    runtime.look_through(static_cast<int64_t>(text->utf8.size()));
    return text->utf8 == right.get<Text>()->utf8;
  }
  const Runtime::Level level(runtime);
  if (const List* list = left.get<List>()) return equal_items(runtime, list->items, right.get<List>()->items);
  if (const Tuple* tuple = left.get<Tuple>())
    return equal_items(runtime, tuple->items, right.get<Tuple>()->items);
  if (const Dict* dict = left.get<Dict>()) return equal_dicts(runtime, *dict, *right.get<Dict>());
  if (const Range* range = left.get<Range>()) return equal_ranges(*range, *right.get<Range>());
  return identical(left, right);
}

int compare(Runtime& runtime, const Value& left, const Value& right, const char* operation) {
  runtime.step();
  require_defined(left);
  require_defined(right);
  if (left.number() && right.number()) {
    if (std::isnan(*left.number()) || std::isnan(*right.number())) return 2;
    return compare_numbers(left, right);
  }
  const Runtime::Level level(runtime);
  if (left.data().index() == right.data().index()) {
    if (const Text* text = left.get<Text>()) {
      runtime.look_through(static_cast<int64_t>(text->utf8.size()));
      const int order = text->utf8.compare(right.get<Text>()->utf8);
      return order < 0 ? -1 : order > 0;
    }
    if (const List* list = left.get<List>())
      return compare_items(runtime, list->items, right.get<List>()->items, operation);
    if (const Tuple* tuple = left.get<Tuple>())
      return compare_items(runtime, tuple->items, right.get<Tuple>()->items, operation);
  }
  throw_type_error(str("'", operation, "' not supported between instances of '", type_name(left), "' and '",
                       type_name(right), "'"));
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  if (const Text* text = container.get<Text>()) return contains_text(runtime, *text, item);
  if (const Dict* dict = container.get<Dict>()) return dict->find(runtime, item) != nullptr;
  if (container.get<DictView>() != nullptr && container.get<DictView>()->part == DictView::Part::kKeys)
    return container.get<DictView>()->dict->find(runtime, item) != nullptr;
  if (!is_iterable(container))
    throw_type_error(str("argument of type '", type_name(container), "' is not iterable"));
  bool found = false;
  for_each_item(runtime, container, [&](const Value& other) {
    found = identical(item, other) || equal(runtime, item, other);
    return !found;
  });
  return found;
}

bool identical(const Value& left, const Value& right) {
  return std::visit(
      [&](const auto& a) {
        using T = std::remove_cvref_t<decltype(a)>;
        const T* b = std::get_if<T>(&right.data());
        if constexpr (requires {
                        *a;
                        a == *b;
                      })
          return b != nullptr && a == *b;
        return false;
      },
      left.data());
}

bool is_hashable(const Value& value) {
  if (const Tuple* tuple = value.get<Tuple>())
    return std::all_of(tuple->items.begin(), tuple->items.end(), is_hashable);
  return value.get<List>() == nullptr && value.get<Dict>() == nullptr && value.get<DictView>() == nullptr;
}

uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

uint64_t hash_of(Runtime& runtime, const Value& value) {
  runtime.step();
  if (const Text* text = value.get<Text>()) {
    runtime.look_through(static_cast<int64_t>(text->utf8.size()));
    return hash_of(text->utf8);
  }
  if (const auto number = value.number()) return std::hash<double>{}(*number + 0.0);
  if (const Tuple* tuple = value.get<Tuple>()) {
    uint64_t hash = 0x9E3779B97F4A7C15;
    for (const Value& item : tuple->items) hash = (hash ^ hash_of(runtime, item)) * 0x100000001B3;
    return hash;
  }
  if (!is_hashable(value)) throw_type_error(str("unhashable type: '", type_name(value), "'"));
  return value.data().index();
}

bool has_length(const Value& value) {
  return value.get<Text>() != nullptr || value.get<List>() != nullptr || value.get<Tuple>() != nullptr ||
         value.get<Dict>() != nullptr || value.get<DictView>() != nullptr || value.get<Range>() != nullptr ||
         value.is_undefined();
}

int64_t length_of(Runtime&, const Value& value) {
  if (const Text* text = value.get<Text>()) return text->length;
  if (const List* list = value.get<List>()) return static_cast<int64_t>(list->items.size());
  if (const Tuple* tuple = value.get<Tuple>()) return static_cast<int64_t>(tuple->items.size());
  if (const Dict* dict = value.get<Dict>()) return dict->size();
  if (const DictView* view = value.get<DictView>()) return view->dict->size();
  if (const Range* range = value.get<Range>()) return range->size();
  if (value.is_undefined()) return 0;
  throw_type_error(str("object of type '", type_name(value), "' has no len()"));
}

}  // namespace cohort::jinja
