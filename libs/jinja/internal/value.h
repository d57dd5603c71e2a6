// The values of a template: Python's None, bool, int, float, str, list, tuple and dict with Python's meaning,
// and what Jinja adds to them. Values are immutable, as the sandbox demands; only namespaces, loops and
// iterators change, and those are owned by the Runtime of one rendering or hold no values that could own
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "libs/common/big_integer.h"

namespace cohort::jinja {

class Runtime;
class Dict;
class Iterator;
class Callable;
struct Text;
struct List;
struct Tuple;
struct Range;
struct DictView;
struct Undefined;
class Namespace;

/// A variable without a value; no expression yields it.
struct Missing {};
struct None {};

/// One value; small ones lie inside, others are shared.
class Value {
 public:
  using Data =
      std::variant<Missing, None, bool, int64_t, double, std::shared_ptr<const Undefined>,
                   std::shared_ptr<const Text>, std::shared_ptr<const List>, std::shared_ptr<const Tuple>,
                   std::shared_ptr<const Dict>, std::shared_ptr<const Range>, std::shared_ptr<const DictView>,
                   std::shared_ptr<Iterator>, std::shared_ptr<const Callable>, Namespace*,
                   std::shared_ptr<const BigInteger>>;

  Value() = default;
  template <typename T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Value> && std::is_constructible_v<Data, T>)
  Value(T&& data) : data_(std::forward<T>(data)) {}  // NOLINT: a value is what it holds

  bool is_missing() const { return std::holds_alternative<Missing>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_undefined() const { return get<Undefined>() != nullptr; }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  /// The number that True, False or an int of 64 bits stands for.
  std::optional<int64_t> integer() const;
  /// That of an int of any size, True and False too.
  std::optional<BigInteger> big_integer() const;
  /// Is it an int, True or False?
  bool is_whole() const { return integer().has_value() || get<BigInteger>() != nullptr; }
  /// As integer(), floats and longer ints too, which may be infinite then.
  std::optional<double> number() const;
  bool is_float() const { return std::holds_alternative<double>(data_); }

  /// What a shared value of this type points to; null for a value of another type.
  template <typename T>
  const T* get() const {
    const auto* pointer = std::get_if<std::shared_ptr<const T>>(&data_);
    return pointer == nullptr ? nullptr : pointer->get();
  }
  Iterator* iterator() const;
  Namespace* get_namespace() const;
  const Data& data() const { return data_; }

 private:
  Data data_;
};

/// An int: a BigInteger where 64 bits don't hold it. Throws TemplateError for more digits than Python prints.
Value make_integer(BigInteger number);

/// A string of well-formed UTF-8.
struct Text {
  std::string utf8;
  int64_t length;       ///< in code points
  bool markup = false;  ///< marked safe: what is joined to it is escaped, as markupsafe does

  bool is_ascii() const { return length == static_cast<int64_t>(utf8.size()); }
};

struct Undefined {
  std::string message;  ///< said when the value is used
};

struct List {
  std::vector<Value> items;
  int depth;  ///< levels of containers, this one included
};

struct Tuple {
  std::vector<Value> items;
  int depth;
};

struct Range {
  int64_t start, stop, step;

  int64_t size() const;
};

/// A dict: entries in the order of their first insertion, found by Python's equality of keys.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  int depth() const { return depth_; }

  /// Null when there is none. Throws TemplateError for a key that Python can't hash.
  const Value* find(Runtime& runtime, const Value& key) const;
  const Value* find(std::string_view key) const;

  /// Adds or replaces. Throws TemplateError for a key that Python can't hash.
  void set(Runtime& runtime, const Value& key, const Value& value);

 private:
  std::optional<size_t> position(Runtime& runtime, const Value& key, uint64_t hash) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<uint64_t, size_t> index_;  // empty while there are few entries
  int depth_ = 1;
};

/// dict.keys(), dict.values() and dict.items().
struct DictView {
  enum class Part { kKeys, kValues, kItems };
  std::shared_ptr<const Dict> dict;
  Part part;
};

/// What is read once, one item after another, as Python's generators are.
class Iterator {
 public:
  virtual ~Iterator() = default;
  /// Nothing at the end. May run filters and tests of the template.
  virtual std::optional<Value> next(Runtime& runtime) = 0;

  int depth = 1;  ///< of what it reads from, itself included
};

/// namespace(): names with values that {% set ns.x = ... %} changes.
class Namespace {
 public:
  Dict attributes;
};

}  // namespace cohort::jinja
