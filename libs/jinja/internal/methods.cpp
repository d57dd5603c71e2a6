#include "libs/jinja/internal/methods.h"

#include <algorithm>
#include <array>

#include "libs/common/str.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/internal/text_methods.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

Value dict_get(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("dict.get()", arguments, {{"key", false, true}, {"default", true, true}});
  const Value* found = self.get<Dict>()->find(runtime, a[0]);
  if (found != nullptr) return *found;
  return a[1].is_missing() ? Value(None()) : a[1];
}

template <DictView::Part part>
Value dict_view(Runtime& runtime, const Value& self, const Arguments& arguments) {
  bind("dict view", arguments, {});
  runtime.allocate(64);
  return std::make_shared<const DictView>(DictView{std::get<std::shared_ptr<const Dict>>(self.data()), part});
}

Value copy(Runtime&, const Value& self, const Arguments& arguments) {
  bind("copy()", arguments, {});
  return self;
}

Value count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("count()", arguments, {{"value", false, true}});
  int64_t result = 0;
  for_each_item(runtime, self, [&](const Value& item) {
    result += identical(item, a[0]) || equal(runtime, item, a[0]);
    return true;
  });
  return result;
}

Value index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("index()", arguments, {{"value", false, true}});
  int64_t position = 0;
  bool found = false;
  for_each_item(runtime, self, [&](const Value& item) {
    found = identical(item, a[0]) || equal(runtime, item, a[0]);
    position += !found;
    return !found;
  });
  if (!found) throw TemplateError(str(to_repr(runtime, a[0]), " is not in ", type_name(self)));
  return position;
}

struct Entry {
  std::string_view name;
  NativeMethod method;
};

constexpr Entry kDictMethods[] = {{"get", dict_get},
                                  {"items", dict_view<DictView::Part::kItems>},
                                  {"keys", dict_view<DictView::Part::kKeys>},
                                  {"values", dict_view<DictView::Part::kValues>},
                                  {"copy", copy}};
constexpr Entry kListMethods[] = {{"copy", copy}, {"count", count}, {"index", index}};
constexpr Entry kSequenceMethods[] = {{"count", count}, {"index", index}};

NativeMethod find_in(const auto& table, std::string_view name) {
  const auto it =
      std::find_if(std::begin(table), std::end(table), [&](const Entry& e) { return e.name == name; });
  return it == std::end(table) ? nullptr : it->method;
}

/// Attributes of numbers that Python has.
bool is_number_attribute(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "real",     "imag",       "numerator",        "denominator", "conjugate", "bit_length", "bit_count",
      "to_bytes", "from_bytes", "as_integer_ratio", "hex",         "fromhex",   "is_integer"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

bool hides_key(std::string_view name) {
  static constexpr std::string_view kNames[] = {"clear",   "fromkeys",   "pop",
                                                "popitem", "setdefault", "update"};
  return name.starts_with("__") || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Value find_method(const Value& value, std::string_view name) {
  if (name.starts_with("_")) return {};
  NativeMethod method = nullptr;
  if (value.get<Text>() != nullptr) {
    method = find_text_method(name);
  } else if (value.get<Dict>() != nullptr) {
    method = find_in(kDictMethods, name);
    if (name == "fromkeys") throw TemplateError("dict.fromkeys is not supported in templates");
  } else if (value.get<List>() != nullptr) {
    method = find_in(kListMethods, name);
  } else if (value.get<Tuple>() != nullptr || value.get<Range>() != nullptr) {
    method = find_in(kSequenceMethods, name);
  } else if (value.number() && is_number_attribute(name)) {
    throw TemplateError(str(type_name(value), ".", name, " is not supported in templates"));
  }
  return method == nullptr ? Value() : make_method(value, method);
}

}  // namespace cohort::jinja
