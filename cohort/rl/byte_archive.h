// Values as bytes: numbers in their memory layout, strings and lists after their uint64 length. One function
// describes a type for both classes: it passes the type's members to whichever it is given.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cohort/core/error.h"

namespace cohort {

template <typename T>
concept Plain = (std::is_arithmetic_v<T> && !std::same_as<T, bool>) || std::is_enum_v<T>;

/// Appends values to a string.
class ByteWriter {
 public:
  static constexpr bool kReads = false;

  template <Plain T>
  void operator()(const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }

  void operator()(bool value) { (*this)(static_cast<uint8_t>(value)); }
  void operator()(const std::string& text) { list(text); }

  template <Plain T>
  void operator()(const std::vector<T>& values) {
    list(values);
  }

  std::string bytes;

 private:
  template <typename List>
  void list(const List& values) {
    (*this)(static_cast<uint64_t>(values.size()));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  }
};

/// Takes values off the front of some bytes. Throws FormatError where they end too early.
class ByteReader {
 public:
  static constexpr bool kReads = true;

  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <Plain T>
  void operator()(T& value) {
    const std::string_view bytes = take(sizeof(T));
    std::memcpy(&value, bytes.data(), bytes.size());
    if constexpr (std::is_enum_v<T>) {
      if (value > last_value(value)) throw FormatError("a value is out of its range");
    }
  }

  void operator()(bool& value) {
    uint8_t byte = 0;
    (*this)(byte);
    value = byte != 0;
  }
  void operator()(std::string& text) { list(text); }

  template <Plain T>
  void operator()(std::vector<T>& values) {
    list(values);
  }

  /// The length of a list whose elements take at least a byte each.
  uint64_t length() {
    uint64_t count = 0;
    (*this)(count);
    if (count > bytes_.size()) throw FormatError("a list is longer than its record");
    return count;
  }

  size_t num_left() const { return bytes_.size(); }

  std::string_view take(size_t count) {
    if (count > bytes_.size()) throw FormatError("a record ends too early");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

 private:
  template <typename List>
  void list(List& values) {
    const uint64_t count = length();
    values.resize(count);
    const std::string_view taken = take(count * sizeof(values[0]));
    if (count > 0) std::memcpy(values.data(), taken.data(), taken.size());
  }

  std::string_view bytes_;
};

/// Calls f for each element of a list, whose length stands before it.
template <typename Archive, typename List, typename F>
void describe_list(Archive& a, List& list, F f) {
  if constexpr (Archive::kReads) {
    list.resize(a.length());
  } else {
    a(static_cast<uint64_t>(list.size()));
  }
  for (auto& each : list) f(each);
}

}  // namespace cohort
