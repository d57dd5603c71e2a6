// A fast pass over the members of a JSON object in text. Values are found by their brackets and quotes and
// handed out as text, so that a line of many numbers costs little where only a few of its members are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// The members of an object, in the order of the text, which must outlive this.
class JsonMembers {
 public:
  explicit JsonMembers(std::string_view text);

  /// Moves to the next member; false at the object's end, and where the text is damaged.
  bool next();

  /// Whether the text is no object, or has more or less than one. Known once `next` returned false. What is
  /// inside of nested values is not checked.
  bool is_damaged() const { return is_damaged_; }

  std::string_view key() const { return key_; }      ///< between its quotes, with its escapes
  std::string_view value() const { return value_; }  ///< with its quotes or brackets

  /// The value as a number; nothing for any other value.
  std::optional<double> number() const { return number_; }

 private:
  bool fail();
  void skip_space();
  bool take(char expected);
  bool read_string(std::string_view& inner);
  bool read_value();

  std::string_view text_, key_, value_;
  std::optional<double> number_;
  size_t place_ = 0;
  bool is_first_ = true, is_damaged_ = false;
};

/// What a string's text between the quotes stands for; nothing if its escapes are malformed.
std::optional<std::string> unescaped_json(std::string_view inner);

/// The integer that a text is, without fraction and exponent; nothing for any other value and beyond 64 bits.
std::optional<int64_t> json_integer(std::string_view value);

/// The elements of a JSON array that holds no strings, arrays and objects; 0 for any other value.
int64_t count_json_scalars(std::string_view array);

}  // namespace cohort
