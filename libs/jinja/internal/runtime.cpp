#include "libs/jinja/internal/runtime.h"

#include <algorithm>

#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

int deepest(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, container_depth(item));
  check_depth(depth + 1);
  return depth + 1;
}

}  // namespace

void Runtime::throw_spent(const char* what, int64_t limit) const {
  throw TemplateError(str("the template takes more than ", limit, " ", what, ", which it may not"));
}

void Runtime::allocate(int64_t bytes) {
  bytes_ += bytes;
  if (bytes_ > limits_.bytes) throw_spent("bytes of memory", limits_.bytes);
}

void Runtime::allocate_items(int64_t count, int64_t bytes_each) {
  if (count > limits_.bytes / bytes_each) throw_spent("bytes of memory", limits_.bytes);
  allocate(count * bytes_each);
}

Value Runtime::text(std::string utf8, bool markup) {
  allocate(static_cast<int64_t>(utf8.size()) + 96);
  const int64_t length = count_code_points(utf8);
  return std::make_shared<const Text>(Text{std::move(utf8), length, markup});
}

Value Runtime::list(std::vector<Value> items) {
  allocate(static_cast<int64_t>(items.size() * sizeof(Value)) + 64);
  const int depth = deepest(items);
  return std::make_shared<const List>(List{std::move(items), depth});
}

Value Runtime::tuple(std::vector<Value> items) {
  allocate(static_cast<int64_t>(items.size() * sizeof(Value)) + 64);
  const int depth = deepest(items);
  return std::make_shared<const Tuple>(Tuple{std::move(items), depth});
}

Value Runtime::dict(Dict dict) {
  allocate(64);
  return std::make_shared<const Dict>(std::move(dict));
}

Value Runtime::undefined(std::string message) {
  allocate(64);
  return std::make_shared<const Undefined>(Undefined{std::move(message)});
}

Value Runtime::iterator(std::unique_ptr<Iterator> iterator) {
  allocate(128);
  check_depth(iterator->depth);
  return std::shared_ptr<Iterator>(std::move(iterator));
}

Value Runtime::make_namespace() {
  allocate(128);
  return &namespaces_.emplace_back();
}

int container_depth(const Value& value) {
  if (const List* list = value.get<List>()) return list->depth;
  if (const Tuple* tuple = value.get<Tuple>()) return tuple->depth;
  if (const Dict* dict = value.get<Dict>()) return dict->depth();
  if (const DictView* view = value.get<DictView>()) return view->dict->depth() + 1;
  if (const Iterator* iterator = value.iterator()) return iterator->depth;
  if (const Callable* callable = value.get<Callable>()) return callable->depth;
  return value.get_namespace() != nullptr ? 1 : 0;
}

void check_depth(int depth) {
  if (depth > kMaxContainerDepth) throw TemplateError("the template nests its values too deeply");
}

}  // namespace cohort::jinja
