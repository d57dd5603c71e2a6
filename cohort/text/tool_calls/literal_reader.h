// Values in the notations that models use beside JSON: Python's literals, and Gemma's objects with bare keys.
#pragma once

#include <string>
#include <string_view>

#include "cohort/text/tool_calls/message.h"

namespace cohort {

/// Reads from the front of a text: objects with quoted or bare keys, lists and tuples, strings in either
/// quote with the escapes that JSON and Python share, numbers, and true, false, null, True, False, None.
class LiteralReader {
 public:
  /// `delimiter`, if there is one, stands on both sides of a string without escapes; a bare word is a string
  /// then, too.
  explicit LiteralReader(std::string_view text, std::string_view delimiter = {})
      : whole_(text), text_(text), delimiter_(delimiter) {}

  /// A call whose arguments are the object at the front; nothing may follow it.
  ToolCall read_object_call(std::string_view name);

  /// A call whose arguments are "(key=value, ...)" at the front.
  ToolCall read_call(std::string_view name);

  /// Skips white space and then `mark`, if it is there.
  bool take(std::string_view mark);

  /// The word of letters, digits and "_" at the front.
  std::string_view take_word();

  bool is_at_end();

 private:
  struct Fault;

  [[noreturn]] void fail(const char* what) const;
  void skip_space();
  Json value(int depth);
  Json object(int depth);
  Json list(int depth, char close);
  std::string key();
  std::string quoted(char quote);
  std::string delimited();
  Json scalar();

  std::string_view whole_, text_, delimiter_;
};

}  // namespace cohort
