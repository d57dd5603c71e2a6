// Reading values item by item.
#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"

namespace cohort::jinja {
namespace {

/// The items of a list or tuple.
template <typename Sequence>
class SequenceIterator : public Iterator {
 public:
  SequenceIterator(std::shared_ptr<const Sequence> sequence) : sequence_(std::move(sequence)) {
    depth = sequence_->depth;
  }
  std::optional<Value> next(Runtime&) override {
    if (position_ >= sequence_->items.size()) return std::nullopt;
    return sequence_->items[position_++];
  }

 private:
  std::shared_ptr<const Sequence> sequence_;
  size_t position_ = 0;
};

class TextIterator : public Iterator {
 public:
  explicit TextIterator(std::shared_ptr<const Text> text) : text_(std::move(text)) {}
  std::optional<Value> next(Runtime& runtime) override {
    if (position_ >= text_->utf8.size()) return std::nullopt;
    const size_t start = position_;
    next_code_point(text_->utf8, position_);
    return runtime.text(text_->utf8.substr(start, position_ - start));
  }

 private:
  std::shared_ptr<const Text> text_;
  size_t position_ = 0;
};

class DictIterator : public Iterator {
 public:
  DictIterator(std::shared_ptr<const Dict> dict, DictView::Part part) : dict_(std::move(dict)), part_(part) {
    depth = dict_->depth();
  }
  std::optional<Value> next(Runtime& runtime) override {
    if (position_ >= dict_->entries().size()) return std::nullopt;
    const auto& [key, value] = dict_->entries()[position_++];
    if (part_ == DictView::Part::kKeys) return key;
    if (part_ == DictView::Part::kValues) return value;
    return runtime.tuple({key, value});
  }

 private:
  std::shared_ptr<const Dict> dict_;
  DictView::Part part_;
  size_t position_ = 0;
};

class RangeIterator : public Iterator {
 public:
  explicit RangeIterator(const Range& range) : range_(range) {}
  std::optional<Value> next(Runtime&) override {
    if (position_ >= range_.size()) return std::nullopt;
    return range_.start + range_.step * position_++;
  }

 private:
  Range range_;
  int64_t position_ = 0;
};

class EmptyIterator : public Iterator {
 public:
  std::optional<Value> next(Runtime&) override { return std::nullopt; }
};

}  // namespace

bool is_iterable(const Value& value) { return has_length(value) || value.iterator() != nullptr; }

std::shared_ptr<Iterator> iterate(Runtime& runtime, const Value& value) {
  runtime.step();
  const Value::Data& data = value.data();
  if (const auto* list = std::get_if<std::shared_ptr<const List>>(&data))
    return std::make_shared<SequenceIterator<List>>(*list);
  if (const auto* tuple = std::get_if<std::shared_ptr<const Tuple>>(&data))
    return std::make_shared<SequenceIterator<Tuple>>(*tuple);
  if (const auto* text = std::get_if<std::shared_ptr<const Text>>(&data))
    return std::make_shared<TextIterator>(*text);
  if (const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&data))
    return std::make_shared<DictIterator>(*dict, DictView::Part::kKeys);
  if (const DictView* view = value.get<DictView>())
    return std::make_shared<DictIterator>(view->dict, view->part);
  if (const Range* range = value.get<Range>()) return std::make_shared<RangeIterator>(*range);
  if (const auto* iterator = std::get_if<std::shared_ptr<Iterator>>(&data)) return *iterator;
  if (value.is_undefined()) return std::make_shared<EmptyIterator>();
  throw_type_error(str("'", type_name(value), "' object is not iterable"));
}

std::vector<Value> items_of(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  for_each_item(runtime, value, [&](const Value& item) {
    runtime.allocate(sizeof(Value));
    items.push_back(item);
    return true;
  });
  return items;
}

}  // namespace cohort::jinja
