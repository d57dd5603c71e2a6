// The text of Python expressions, as far as asserts must be understood: strings, brackets, operators and what
// lies between them. All of these throw FormatError where brackets or strings don't end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Throws FormatError.
[[noreturn]] void refuse_text(const std::string& why);

/// Whether `c` may be part of a name.
bool is_word(char c);

/// The end of the word that begins at `offset`; `offset` where none does.
size_t skip_word(std::string_view text, size_t offset);

/// Words that join or compare expressions; other words are names.
bool is_keyword(std::string_view word);

/// The end of the string that begins with the quote at `offset`.
size_t skip_string(std::string_view text, size_t offset);

/// The end of the bracket that opens at `offset`.
size_t skip_brackets(std::string_view text, size_t offset);

/// A comma, a comparison, a keyword or the end of a line, outside all brackets and strings.
struct Mark {
  std::string text;
  size_t offset;
};
std::vector<Mark> find_marks(std::string_view text);

/// The offsets of + and - between two operands, outside all brackets and strings. The sign of a number or of
/// an exponent is none of these.
std::vector<size_t> find_sums(std::string_view text);

/// The parts between the marks `mark`, without white space around; none after a mark at the end.
std::vector<std::string_view> split_at(std::string_view text, const std::string& mark);

/// What lies within the parentheses around all of `text`; `text` where there are none, and for a tuple.
std::string_view strip_parentheses(std::string_view text);

/// `text` without comments, and with lines joined that a backslash joins.
std::string without_comments(std::string_view text);

}  // namespace cohort
