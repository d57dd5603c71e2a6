#include "cohort/rewards/python_text.h"

#include <algorithm>
#include <cctype>

#include "cohort/core/error.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

bool is_quote(char c) { return c == '\'' || c == '"'; }
bool is_opening(char c) { return c == '(' || c == '[' || c == '{'; }
bool is_closing(char c) { return c == ')' || c == ']' || c == '}'; }

// The end of the number at `offset`, with the sign of its exponent: 1e-3, but not 0x1e-3.
size_t skip_number(std::string_view text, size_t offset) {
  const bool has_base = text.substr(offset).starts_with("0x") || text.substr(offset).starts_with("0X");
  size_t end = offset + 1;
  for (; end < text.size(); ++end) {
    const bool is_sign = text[end] == '+' || text[end] == '-';
    const bool is_in_exponent = is_sign && !has_base && (text[end - 1] == 'e' || text[end - 1] == 'E');
    if (!is_word(text[end]) && text[end] != '.' && !is_in_exponent) break;
  }
  return end;
}

}  // namespace

void refuse_text(const std::string& why) { throw FormatError(why); }

bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

size_t skip_word(std::string_view text, size_t offset) {
  while (offset < text.size() && is_word(text[offset])) ++offset;
  return offset;
}

bool is_keyword(std::string_view word) {
  constexpr std::string_view kKeywords[] = {"and",  "or",     "not", "is",    "in",    "if",
                                            "else", "lambda", "for", "await", "yield", "async"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

size_t skip_string(std::string_view text, size_t offset) {
  const char quote = text[offset];
  const std::string triple(3, quote);
  const bool is_long = text.substr(offset).starts_with(triple);
  const std::string_view end = is_long ? std::string_view(triple) : text.substr(offset, 1);
  for (size_t i = offset + end.size(); i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text.substr(i).starts_with(end)) {
      return i + end.size();
    }
  }
  refuse_text("a string does not end");
}

size_t skip_brackets(std::string_view text, size_t offset) {
  std::string open;
  size_t i = offset;
  while (i < text.size()) {
    const char c = text[i];
    if (is_quote(c)) {
      i = skip_string(text, i);
      continue;
    }
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (is_closing(c)) {
      if (open.empty() || open.back() != c) refuse_text("its brackets don't match");
      open.pop_back();
    }
    ++i;
    if (open.empty()) return i;
  }
  refuse_text("a bracket does not close");
}

std::vector<Mark> find_marks(std::string_view text) {
  std::vector<Mark> marks;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (is_quote(c)) {
      i = skip_string(text, i);
    } else if (is_opening(c)) {
      i = skip_brackets(text, i);
    } else if (is_closing(c)) {
      refuse_text("its brackets don't match");
    } else if (is_word(c)) {
      const size_t end = skip_word(text, i);
      const std::string word(text.substr(i, end - i));
      if (is_keyword(word)) marks.push_back({word, i});
      i = end;
    } else {
      const std::string_view pair = text.substr(i, 2);
      const bool is_pair = pair == "==" || pair == "!=" || pair == "<=" || pair == ">=" || pair == ":=";
      if (is_pair || std::string_view(",<>=;:\n").find(c) != std::string_view::npos)
        marks.push_back({std::string(is_pair ? pair : pair.substr(0, 1)), i});
      i += is_pair ? 2 : 1;
    }
  }
  return marks;
}

std::vector<size_t> find_sums(std::string_view text) {
  std::vector<size_t> offsets;
  bool follows_operand = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
      continue;
    }
    const size_t begin = i;
    const bool is_number = is_digit(c) || (c == '.' && i + 1 < text.size() && is_digit(text[i + 1]));
    const bool is_sum = follows_operand && (c == '+' || c == '-');
    if (is_sum) offsets.push_back(i);
    follows_operand = is_number || is_quote(c) || is_opening(c) || is_word(c);
    i = is_number       ? skip_number(text, i)
        : is_quote(c)   ? skip_string(text, i)
        : is_opening(c) ? skip_brackets(text, i)
        : is_word(c)    ? skip_word(text, i)
                        : i + 1;
    if (is_keyword(text.substr(begin, i - begin))) follows_operand = false;
  }
  return offsets;
}

std::vector<std::string_view> split_at(std::string_view text, const std::string& mark) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (const Mark& found : find_marks(text)) {
    if (found.text != mark) continue;
    parts.push_back(trim(text.substr(begin, found.offset - begin)));
    begin = found.offset + mark.size();
  }
  if (const std::string_view last = trim(text.substr(begin)); !last.empty()) parts.push_back(last);
  return parts;
}

std::string_view strip_parentheses(std::string_view text) {
  text = trim(text);
  while (text.starts_with("(") && skip_brackets(text, 0) == text.size()) {
    const std::string_view inner = trim(text.substr(1, text.size() - 2));
    const std::vector<Mark> marks = find_marks(inner);
    const auto is_comma = [](const Mark& mark) { return mark.text == ","; };
    if (inner.empty() || std::any_of(marks.begin(), marks.end(), is_comma)) break;
    text = inner;
  }
  return text;
}

std::string without_comments(std::string_view text) {
  std::string kept;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (is_quote(text[i])) {
      end = skip_string(text, i);
    } else if (text[i] == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    } else if (text.substr(i).starts_with("\\\n")) {
      kept += ' ';
      i += 2;
      continue;
    }
    kept += text.substr(i, end - i);
    i = end;
  }
  return kept;
}

}  // namespace cohort
