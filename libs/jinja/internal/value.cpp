#include "libs/jinja/internal/value.h"

#include <algorithm>

#include "libs/jinja/internal/operations.h"
#include "libs/jinja/internal/runtime.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// Dicts with fewer entries are searched one by one.
constexpr size_t kIndexedSize = 8;

}  // namespace

std::optional<int64_t> Value::integer() const {
  if (const auto* flag = std::get_if<bool>(&data_)) return *flag ? 1 : 0;
  if (const auto* number = std::get_if<int64_t>(&data_)) return *number;
  return std::nullopt;
}

std::optional<BigInteger> Value::big_integer() const {
  if (const auto number = integer()) return BigInteger(*number);
  const BigInteger* big = get<BigInteger>();
  return big == nullptr ? std::nullopt : std::optional(*big);
}

std::optional<double> Value::number() const {
  if (const BigInteger* big = get<BigInteger>()) return big->to_double();
  if (const auto* real = std::get_if<double>(&data_)) return *real;
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

Value make_integer(BigInteger number) {
  constexpr int64_t kMaxLimbs = 446;  // of 4,300 digits, Python's own limit
  if (const auto small = number.to_int64()) return *small;
  if (number.num_limbs() > kMaxLimbs)
    throw TemplateError("an integer of more than 4,300 digits is not supported");
  return std::make_shared<const BigInteger>(std::move(number));
}

Iterator* Value::iterator() const {
  const auto* pointer = std::get_if<std::shared_ptr<Iterator>>(&data_);
  return pointer == nullptr ? nullptr : pointer->get();
}

Namespace* Value::get_namespace() const {
  const auto* pointer = std::get_if<Namespace*>(&data_);
  return pointer == nullptr ? nullptr : *pointer;
}

int64_t Range::size() const {
  if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

std::optional<size_t> Dict::position(Runtime& runtime, const Value& key, uint64_t hash) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (equal(runtime, entries_[i].first, key)) return i;
    }
    return std::nullopt;
  }
  const auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (equal(runtime, entries_[it->second].first, key)) return it->second;
  }
  return std::nullopt;
}

const Value* Dict::find(Runtime& runtime, const Value& key) const {
  const std::optional<size_t> found = position(runtime, key, hash_of(runtime, key));
  return found ? &entries_[*found].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  const auto matches = [&](size_t i) {
    const Text* text = entries_[i].first.get<Text>();
    return text != nullptr && text->utf8 == key;
  };
  if (index_.empty()) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (matches(i)) return &entries_[i].second;
    }
    return nullptr;
  }
  const auto [begin, end] = index_.equal_range(hash_of(key));
  for (auto it = begin; it != end; ++it) {
    if (matches(it->second)) return &entries_[it->second].second;
  }
  return nullptr;
}

void Dict::set(Runtime& runtime, const Value& key, const Value& value) {
  const uint64_t hash = hash_of(runtime, key);
  depth_ = std::max({depth_, container_depth(key) + 1, container_depth(value) + 1});
  check_depth(depth_);
  if (const std::optional<size_t> found = position(runtime, key, hash)) {
    entries_[*found].second = value;
    return;
  }
  runtime.allocate(96);
  entries_.emplace_back(key, value);
  if (entries_.size() < kIndexedSize) return;
  if (!index_.empty()) {
    index_.emplace(hash, entries_.size() - 1);
    return;
  }
  for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(hash_of(runtime, entries_[i].first), i);
}

}  // namespace cohort::jinja
