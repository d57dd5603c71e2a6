#include "cohort/rewards/assert_test.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/python_literal.h"

namespace cohort {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw FormatError(why); }

bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

/// An operator, a comma or a keyword outside all brackets and strings.
struct Mark {
  std::string text;
  size_t offset;
};

// The end of the string that begins at `offset`.
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
  refuse("a string does not end");
}

size_t skip_brackets(std::string_view text, size_t offset) {
  std::string open;
  size_t i = offset;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      i = skip_string(text, i);
      continue;
    }
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) refuse("its brackets don't match");
      open.pop_back();
    }
    ++i;
    if (open.empty()) return i;
  }
  refuse("a bracket does not close");
}

// Words that join or compare expressions; other words are names.
bool is_keyword(std::string_view word) {
  constexpr std::string_view kKeywords[] = {"and", "or", "not", "is", "in", "if", "else", "lambda", "for"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

std::vector<Mark> find_marks(std::string_view text) {
  std::vector<Mark> marks;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      i = skip_string(text, i);
    } else if (c == '(' || c == '[' || c == '{') {
      i = skip_brackets(text, i);
    } else if (c == ')' || c == ']' || c == '}') {
      refuse("its brackets don't match");
    } else if (is_word(c)) {
      size_t end = i;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string word(text.substr(i, end - i));
      if (is_keyword(word)) marks.push_back({word, i});
      i = end;
    } else {
      const std::string_view pair = text.substr(i, 2);
      const bool is_pair = pair == "==" || pair == "!=" || pair == "<=" || pair == ">=" || pair == ":=";
      if (is_pair || std::string_view(",<>=;#:\n").find(c) != std::string_view::npos)
        marks.push_back({std::string(is_pair ? pair : pair.substr(0, 1)), i});
      i += is_pair ? 2 : 1;
    }
  }
  return marks;
}

// What lies within the one pair of parentheses around all of `text`; `text` where there is none.
std::string_view strip_parentheses(std::string_view text) {
  text = trim(text);
  while (text.starts_with("(") && skip_brackets(text, 0) == text.size()) {
    const std::string_view inner = trim(text.substr(1, text.size() - 2));
    const std::vector<Mark> marks = find_marks(inner);
    const auto is_comma = [](const Mark& mark) { return mark.text == ","; };
    if (inner.empty() || std::any_of(marks.begin(), marks.end(), is_comma)) break;  // a tuple
    text = inner;
  }
  return text;
}

// The function that is called, where the whole text is NAME(...) or NAME.NAME(...).
std::optional<std::string> called_name(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
  if (end == 0 || end == text.size() || text[end] != '(' || isdigit(static_cast<unsigned char>(text[0])) != 0)
    return std::nullopt;
  return std::string(text.substr(0, end));
}

bool is_call(std::string_view text) {
  const std::optional<std::string> name = called_name(text);
  return name && skip_brackets(text, name->size()) == text.size();
}

std::vector<std::string_view> split_arguments(std::string_view call, size_t name_size) {
  const std::string_view inner = call.substr(name_size + 1, call.size() - name_size - 2);
  std::vector<std::string_view> arguments;
  size_t begin = 0;
  for (const Mark& mark : find_marks(inner)) {
    if (mark.text != ",") continue;
    arguments.push_back(trim(inner.substr(begin, mark.offset - begin)));
    begin = mark.offset + 1;
  }
  if (const std::string_view last = trim(inner.substr(begin)); !last.empty()) arguments.push_back(last);
  return arguments;
}

CodeTest evaluating(std::string_view expression, CodeTest::Kind kind) {
  const std::string_view text = strip_parentheses(expression);
  if (text.find('(') == std::string_view::npos) refuse("it calls no function");
  for (const Mark& mark : find_marks(text)) {
    if (mark.text != "if" && mark.text != "else") refuse(str("`", mark.text, "` beside its comparison"));
  }
  CodeTest test;
  test.kind = kind;
  test.call = {{"expression", std::string(text)}};
  return test;
}

// One side is a literal, the other a call.
CodeTest compare(std::string_view left, std::string_view right) {
  std::optional<TypedValue> expected = parse_python_literal(strip_parentheses(right));
  std::string_view call = left;
  if (!expected) {
    expected = parse_python_literal(strip_parentheses(left));
    call = right;
  }
  if (!expected) refuse("neither side of its comparison is a literal");
  CodeTest test = evaluating(call, CodeTest::Kind::kValue);
  test.expected = std::move(*expected);
  return test;
}

double read_number(std::string_view text) {
  const std::optional<TypedValue> value = parse_python_literal(text);
  if (!value || (value->kind != TypedValue::Kind::kInt && value->kind != TypedValue::Kind::kFloat))
    refuse("its tolerance is no number");
  return value->kind == TypedValue::Kind::kInt ? strtod(value->text.c_str(), nullptr) : value->number;
}

// abs(CALL - NUMBER) < TOLERANCE
CodeTest near(std::string_view left, std::string_view right) {
  const std::string_view text = strip_parentheses(left);
  if (called_name(text) != "abs" || !is_call(text)) refuse("it compares with `<`");
  const std::string_view difference = trim(text.substr(4, text.size() - 5));
  for (size_t minus = difference.size(); minus-- > 1;) {
    const std::string_view before = trim(difference.substr(0, minus));
    const bool is_sign =
        before.empty() || std::string_view("+-*/%(,<>=&|^~").find(before.back()) != before.npos;
    if (difference[minus] != '-' || is_sign) continue;
    try {
      CodeTest test = compare(before, difference.substr(minus + 1));
      test.tolerance = read_number(strip_parentheses(right));
      return test;
    } catch (const FormatError&) {
      continue;  // a minus inside one of the sides
    }
  }
  refuse("it compares a difference without a number");
}

CodeTest close_to(std::string_view text, const std::string& name) {
  const std::vector<std::string_view> arguments = split_arguments(text, name.size());
  if (arguments.size() < 2) refuse(str(name, " needs two arguments"));
  CodeTest test = compare(arguments[0], arguments[1]);
  for (size_t i = 2; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    const std::string_view key = trim(arguments[i].substr(0, equals));
    if (equals == std::string_view::npos || (key != "rel_tol" && key != "abs_tol"))
      refuse(str("an argument of ", name, " is neither rel_tol nor abs_tol"));
    test.tolerance =
        std::max(test.tolerance.value_or(0.0), read_number(trim(arguments[i].substr(equals + 1))));
  }
  return test;
}

// Names whose answer the program could not be trusted with, or that would carry what is expected inside.
bool is_judge(const std::string& name) {
  constexpr std::string_view kJudges[] = {"isinstance", "issubclass", "all",  "any",  "bool", "callable",
                                          "hasattr",    "len",        "eval", "exec", "print"};
  const std::string root = name.substr(0, name.find('.'));
  const bool is_module = root == "math" || root == "np" || root == "numpy" || root == "cmath";
  return is_module || std::find(std::begin(kJudges), std::end(kJudges), name) != std::end(kJudges);
}

CodeTest of_truth(std::string_view text, CodeTest::Kind kind) {
  text = strip_parentheses(text);
  const std::optional<std::string> name = called_name(text);
  if (kind == CodeTest::Kind::kTruthy && (name == "math.isclose" || name == "isclose") && is_call(text))
    return close_to(text, *name);
  if (!name || !is_call(text)) refuse("it is neither a comparison nor a plain call");
  if (is_judge(*name)) refuse(str("its verdict would be that of ", *name, ", inside the sandbox"));
  return evaluating(text, kind);
}

CodeTest convert_condition(std::string_view text) {
  std::vector<Mark> marks = find_marks(text);
  std::erase_if(marks, [](const Mark& mark) { return mark.text == ":" || mark.text == "\n"; });
  if (marks.empty()) return of_truth(text, CodeTest::Kind::kTruthy);
  const Mark& first = marks.front();
  const std::string_view left = trim(text.substr(0, first.offset));
  const std::string_view right = trim(text.substr(first.offset + first.text.size()));
  if (marks.size() > 1) refuse(str("`", first.text, "` and `", marks[1].text, "` in one condition"));
  if (first.text == "==") return compare(left, right);
  if (first.text == "<" || first.text == "<=") return near(left, right);
  if (first.text == "not" && left.empty()) return of_truth(right, CodeTest::Kind::kFalsy);
  if (first.text != "is") refuse(str("it compares with `", first.text, "`"));
  if (right != "None" && right != "True" && right != "False")
    refuse("`is` with more than None, True and False");
  CodeTest test = compare(left, right);
  test.is_identity = true;
  return test;
}

// `text` without a message and a comment behind it.
std::string_view strip_message(std::string_view text) {
  for (const Mark& mark : find_marks(text)) {
    if (mark.text == "," || mark.text == "#") return trim(text.substr(0, mark.offset));
    if (mark.text == ";" || mark.text == "\n") refuse("more than one statement");
  }
  return text;
}

}  // namespace

CodeTest convert_assert(std::string_view text) {
  constexpr std::string_view kAssert = "assert";
  text = trim(text);
  if (!text.starts_with(kAssert) || (text.size() > kAssert.size() && is_word(text[kAssert.size()])))
    refuse("it does not begin with assert");
  text = trim(text.substr(kAssert.size()));
  return convert_condition(strip_parentheses(strip_message(text)));
}

}  // namespace cohort
