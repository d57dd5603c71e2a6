// map, select, reject and their kin, and unique: filters that hand out their items as they are asked for.
#include <algorithm>
#include <memory>
#include <utility>

#include "libs/jinja/internal/filters.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/internal/tests.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// Reads from a value once the first item is asked for. What is not true has no items, even if it is no
/// sequence.
class LazyIterator : public Iterator {
 public:
  LazyIterator(Value source, const Arguments& arguments) : source_(std::move(source)) {
    depth = container_depth(source_) + 1;
    for (const Value& value : arguments.positional) depth = std::max(depth, container_depth(value) + 1);
    for (const auto& [name, value] : arguments.keyword) depth = std::max(depth, container_depth(value) + 1);
  }

 protected:
  std::optional<Value> next_of_source(Runtime& runtime) {
    if (!started_ && truth(source_)) iterator_ = iterate(runtime, source_);
    started_ = true;
    runtime.step();
    return iterator_ ? iterator_->next(runtime) : std::nullopt;
  }

 private:
  Value source_;
  bool started_ = false;
  std::shared_ptr<Iterator> iterator_;
};

/// The arguments behind the first `count`.
Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + count);
  return rest;
}

class MapIterator : public LazyIterator {
 public:
  MapIterator(Value source, const Arguments& arguments)
      : LazyIterator(std::move(source), arguments), arguments_(arguments) {}

  std::optional<Value> next(Runtime& runtime) override {
    const Runtime::Level level(runtime);
    const std::optional<Value> item = next_of_source(runtime);
    if (!item) return std::nullopt;
    if (!prepared_) prepare(runtime);
    if (filter_ != nullptr) return filter_(runtime, *item, arguments_);
    return path_->of(runtime, *item, default_);
  }

 private:
  void prepare(Runtime& runtime) {
    prepared_ = true;
    if (!arguments_.positional.empty()) {
      const std::string name = to_text(runtime, arguments_.positional[0]);
      filter_ = find_filter(name);
      if (filter_ == nullptr) throw_no_filter(name);
      arguments_ = without_first(arguments_, 1);
      return;
    }
    Value attribute;
    for (const auto& [key, value] : arguments_.keyword) {
      if (key == "attribute") {
        attribute = value;
      } else if (key == "default") {
        if (!value.is_none()) default_ = value;
      } else {
        throw TemplateError("Unexpected keyword argument '" + key + "'");
      }
    }
    if (attribute.is_missing()) throw TemplateError("map requires a filter argument");
    path_ = std::make_unique<AttributePath>(runtime, attribute);
  }

  Arguments arguments_;
  bool prepared_ = false;
  Filter filter_ = nullptr;
  std::unique_ptr<AttributePath> path_;
  Value default_;
};

struct Selection {
  bool wanted;        ///< keep items for which the test has this result
  bool by_attribute;  ///< test an attribute instead of the item
};

class SelectIterator : public LazyIterator {
 public:
  SelectIterator(Value source, const Arguments& arguments, Selection selection)
      : LazyIterator(std::move(source), arguments), arguments_(arguments), selection_(selection) {}

  std::optional<Value> next(Runtime& runtime) override {
    const Runtime::Level level(runtime);
    while (const std::optional<Value> item = next_of_source(runtime)) {
      if (!path_) prepare(runtime);
      const Value tested = path_->of(runtime, *item);
      const bool result = test_ == nullptr ? truth(tested) : test_(runtime, tested, arguments_);
      if (result == selection_.wanted) return item;
    }
    return std::nullopt;
  }

 private:
  void prepare(Runtime& runtime) {
    const std::vector<Value>& given = arguments_.positional;
    const size_t offset = selection_.by_attribute;
    if (given.size() < offset) throw TemplateError("Missing parameter for attribute name");
    path_ = std::make_unique<AttributePath>(runtime, selection_.by_attribute ? given[0] : Value(None()));
    if (given.size() == offset) return;
    const std::string name = to_text(runtime, given[offset]);
    test_ = find_test(name);
    if (test_ == nullptr) throw TemplateError("No test named '" + name + "'.");
    arguments_ = without_first(arguments_, offset + 1);
  }

  Arguments arguments_;
  Selection selection_;
  std::unique_ptr<AttributePath> path_;
  Test test_ = nullptr;
};

class UniqueIterator : public LazyIterator {
 public:
  UniqueIterator(Value source, const Arguments& arguments, const AttributePath& path, bool case_sensitive)
      : LazyIterator(std::move(source), arguments), path_(path), case_sensitive_(case_sensitive) {}

  std::optional<Value> next(Runtime& runtime) override {
    const Runtime::Level level(runtime);
    while (const std::optional<Value> item = next_of_source(runtime)) {
      Value key = path_.of(runtime, *item);
      if (!case_sensitive_) key = ignoring_case(runtime, key);
      if (seen_.find(runtime, key) != nullptr) continue;
      seen_.set(runtime, key, None());
      return item;
    }
    return std::nullopt;
  }

 private:
  AttributePath path_;
  bool case_sensitive_;
  Dict seen_;
};

Value map(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return runtime.iterator(std::make_unique<MapIterator>(value, arguments));
}

template <bool wanted, bool by_attribute>
Value select(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return runtime.iterator(
      std::make_unique<SelectIterator>(value, arguments, Selection{wanted, by_attribute}));
}

Value unique(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("unique", arguments, {{"case_sensitive", true}, {"attribute", true}});
  const bool case_sensitive = !a[0].is_missing() && truth(a[0]);
  return runtime.iterator(
      std::make_unique<UniqueIterator>(value, arguments, AttributePath(runtime, a[1]), case_sensitive));
}

constexpr FilterEntry kFilters[] = {{"map", map},
                                    {"reject", select<false, false>},
                                    {"rejectattr", select<false, true>},
                                    {"select", select<true, false>},
                                    {"selectattr", select<true, true>},
                                    {"unique", unique}};

}  // namespace

Filter find_selection_filter(std::string_view name) { return find_in(kFilters, name); }

}  // namespace cohort::jinja
