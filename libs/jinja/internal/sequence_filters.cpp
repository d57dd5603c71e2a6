// The filters that work on sequences and dicts.
#include <algorithm>
#include <numeric>
#include <utility>

#include "libs/common/str.h"
#include "libs/jinja/internal/filters.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// Items that are made when the first one is asked for, and handed out once.
class DeferredIterator : public Iterator {
 public:
  using Make = std::vector<Value> (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

  DeferredIterator(Make make, const Value& value, const Arguments& arguments)
      : make_(make), value_(value), arguments_(arguments) {
    depth = container_depth(value) + 2;
    for (const Value& argument : arguments.positional) depth = std::max(depth, container_depth(argument) + 2);
    for (const auto& [name, argument] : arguments.keyword)
      depth = std::max(depth, container_depth(argument) + 2);
  }
  std::optional<Value> next(Runtime& runtime) override {
    const Runtime::Level level(runtime);
    if (make_ != nullptr) items_ = std::exchange(make_, nullptr)(runtime, value_, arguments_);
    if (position_ == items_.size()) return std::nullopt;
    return items_[position_++];
  }

 private:
  Make make_;
  Value value_;
  Arguments arguments_;
  std::vector<Value> items_;
  size_t position_ = 0;
};

/// The filter that gives the items of `make` one by one.
template <DeferredIterator::Make make>
Value deferred(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return runtime.iterator(std::make_unique<DeferredIterator>(make, value, arguments));
}

/// `items` in the order of `keys`, equal ones as they were.
std::vector<Value> sorted(Runtime& runtime, const std::vector<Value>& items, const std::vector<Value>& keys,
                          bool reverse) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int result =
        reverse ? compare(runtime, keys[b], keys[a], "<") : compare(runtime, keys[a], keys[b], "<");
    return result == -1;
  });
  std::vector<Value> result;
  result.reserve(order.size());
  for (const size_t i : order) result.push_back(items[i]);
  return result;
}

bool flag(const Value& value) { return !value.is_missing() && truth(value); }

const Dict& mapping_of(const Value& value, const char* filter) {
  require_defined(value);
  if (const Dict* dict = value.get<Dict>()) return *dict;
  throw_type_error(str(filter, ": '", type_name(value), "' object is no mapping"));
}

Value dict_sort(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("dictsort", arguments, {{"case_sensitive", true}, {"by", true}, {"reverse", true}});
  const std::string by = a[1].is_missing() ? "key" : text_argument(a[1], "dictsort");
  if (by != "key" && by != "value") throw TemplateError("You can only sort by either \"key\" or \"value\"");
  std::vector<Value> items, keys;
  for (const auto& [key, entry] : mapping_of(value, "dictsort").entries()) {
    items.push_back(runtime.tuple({key, entry}));
    const Value& sort_key = by == "key" ? key : entry;
    keys.push_back(flag(a[0]) ? sort_key : ignoring_case(runtime, sort_key));
  }
  return runtime.list(sorted(runtime, items, keys, flag(a[2])));
}

Value sort(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("sort", arguments, {{"reverse", true}, {"case_sensitive", true}, {"attribute", true}});
  std::vector<AttributePath> paths;
  if (const Text* text = a[2].get<Text>()) {
    for (const std::string_view path : split_at(text->utf8, ",", -1))
      paths.emplace_back(runtime, runtime.text(std::string(path)));
  } else {
    paths.emplace_back(runtime, a[2]);
  }
  const std::vector<Value> items = items_of(runtime, value);
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      const Value part = path.of(runtime, item);
      parts.push_back(flag(a[1]) ? part : ignoring_case(runtime, part));
    }
    keys.push_back(parts.size() == 1 ? parts[0] : runtime.list(std::move(parts)));
  }
  return runtime.list(sorted(runtime, items, keys, flag(a[0])));
}

template <bool is_max>
Value extreme(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind(is_max ? "max" : "min", arguments, {{"case_sensitive", true}, {"attribute", true}});
  const AttributePath path(runtime, a[1]);
  Value best, best_key;
  for_each_item(runtime, value, [&](const Value& item) {
    Value key = path.of(runtime, item);
    if (!flag(a[0])) key = ignoring_case(runtime, key);
    const bool better = best.is_missing() || (is_max ? compare(runtime, key, best_key, ">") == 1
                                                     : compare(runtime, key, best_key, "<") == -1);
    if (better) {
      best = item;
      best_key = key;
    }
    return true;
  });
  return best.is_missing() ? runtime.undefined("No aggregated item, sequence was empty.") : best;
}

Value sum(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("sum", arguments, {{"attribute", true}, {"start", true}});
  const AttributePath path(runtime, a[0]);
  Value total = a[1].is_missing() ? Value(int64_t{0}) : a[1];
  if (total.get<Text>() != nullptr) throw_type_error("sum() can't sum strings [use ''.join(seq) instead]");
  for_each_item(runtime, value, [&](const Value& item) {
    total = binary(runtime, BinaryOperator::kAdd, total, path.of(runtime, item));
    return true;
  });
  return total;
}

Value length(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("length", arguments, {});
  return length_of(runtime, value);
}

Value list(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("list", arguments, {});
  return runtime.list(items_of(runtime, value));
}

Value first(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("first", arguments, {});
  const std::optional<Value> item = iterate(runtime, value)->next(runtime);
  return item ? *item : runtime.undefined("No first item, sequence was empty.");
}

/// The items from the last to the first, as reversed() of Python permits.
std::vector<Value> reversed(Runtime& runtime, const Value& value, const Arguments& = {}) {
  std::vector<Value> items = items_of(runtime, value);
  std::reverse(items.begin(), items.end());
  return items;
}

Value last(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("last", arguments, {});
  if (value.iterator() != nullptr) throw_type_error("'generator' object is not reversible");
  const bool indexed = value.get<Text>() || value.get<List>() || value.get<Tuple>();
  if (indexed && length_of(runtime, value) > 0) return get_item(runtime, value, int64_t{-1});
  const std::vector<Value> items = reversed(runtime, value);
  return items.empty() ? runtime.undefined("No last item, sequence was empty.") : items[0];
}

Value reverse(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("reverse", arguments, {});
  if (value.get<Text>() != nullptr) return get_slice(runtime, value, None(), None(), int64_t{-1});
  if (value.iterator() != nullptr) return runtime.list(reversed(runtime, value));
  if (!is_iterable(value)) throw_type_error("argument must be iterable");
  return deferred<reversed>(runtime, value, {});
}

std::vector<Value> items(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("items", arguments, {});
  std::vector<Value> pairs;
  if (!value.is_undefined()) {
    for (const auto& [key, entry] : mapping_of(value, "items").entries())
      pairs.push_back(runtime.tuple({key, entry}));
  }
  return pairs;
}

std::vector<Value> batch(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("batch", arguments, {{"linecount"}, {"fill_with", true}});
  const int64_t size = integer_argument(a[0], "batch");
  std::vector<Value> rows, row;
  for_each_item(runtime, value, [&](const Value& item) {
    if (static_cast<int64_t>(row.size()) == size) rows.push_back(runtime.list(std::exchange(row, {})));
    row.push_back(item);
    return true;
  });
  if (!row.empty()) {
    const int64_t lacking = size - static_cast<int64_t>(row.size());
    if (!a[1].is_missing() && !a[1].is_none() && lacking > 0) {
      runtime.allocate_items(lacking, sizeof(Value));
      row.insert(row.end(), lacking, a[1]);
    }
    rows.push_back(runtime.list(std::move(row)));
  }
  return rows;
}

std::vector<Value> slice(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("slice", arguments, {{"slices"}, {"fill_with", true}});
  const int64_t count = integer_argument(a[0], "slice");
  const std::vector<Value> all = items_of(runtime, value);
  const auto size = static_cast<int64_t>(all.size());
  if (count == 0) throw TemplateError("integer division or modulo by zero");
  std::vector<Value> columns;
  const int64_t each = count > 0 ? size / count : 0, more = count > 0 ? size % count : 0;
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    runtime.step(2);
    const int64_t end = start + each + (i < more);
    std::vector<Value> column(all.begin() + start, all.begin() + end);
    if (!a[1].is_missing() && !a[1].is_none() && i >= more) column.push_back(a[1]);
    columns.push_back(runtime.list(std::move(column)));
    start = end;
  }
  return columns;
}

Value attr(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("attr", arguments, {{"name"}});
  const std::string& name = text_argument(a[0], "attr");
  // Entries of a dict are no attributes.
  if (value.get<Dict>() != nullptr && value.get<Dict>()->find(name) != nullptr)
    return get_attribute(runtime, runtime.dict({}), name);
  return get_attribute(runtime, value, name);
}

constexpr FilterEntry kFilters[] = {
    {"attr", attr},
    {"batch", deferred<batch>},
    {"count", length},
    {"dictsort", dict_sort},
    {"first", first},
    {"items", deferred<items>},
    {"last", last},
    {"length", length},
    {"list", list},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reverse", reverse},
    {"slice", deferred<slice>},
    {"sort", sort},
    {"sum", sum},
};

}  // namespace

Filter find_sequence_filter(std::string_view name) { return find_in(kFilters, name); }

}  // namespace cohort::jinja
