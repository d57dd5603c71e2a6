#include "cohort/rewards/python_tests.h"

#include <optional>

#include "cohort/rewards/assert_test.h"
#include "cohort/rewards/python_literal.h"
#include "cohort/rewards/python_text.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

struct Statement {
  size_t indent = 0;
  std::string text{};
};

bool begins_with_word(std::string_view text, std::string_view word) {
  return text.starts_with(word) && (text.size() == word.size() || !is_word(text[word.size()]));
}

// The end of the statement at `offset`: a line's end or a semicolon outside brackets and strings.
size_t statement_end(std::string_view text, size_t offset) {
  while (offset < text.size() && text[offset] != '\n' && text[offset] != ';') {
    const char c = text[offset];
    if (c == '\'' || c == '"') {
      offset = skip_string(text, offset);
    } else if (c == '(' || c == '[' || c == '{') {
      offset = skip_brackets(text, offset);
    } else {
      ++offset;
    }
  }
  return offset;
}

std::vector<Statement> split_statements(std::string_view source) {
  const std::string text = without_comments(source);
  std::vector<Statement> statements;
  size_t indent = 0;
  bool is_line = true;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = std::min(text.find_first_not_of(" \t\r", i), text.size());
    if (is_line) indent = begin - i;
    const size_t end = statement_end(text, begin);
    const std::string_view statement = trim(std::string_view(text).substr(begin, end - begin));
    if (!statement.empty()) statements.push_back({indent, std::string(statement)});
    is_line = end < text.size() && text[end] == '\n';
    i = end + 1;
  }
  return statements;
}

// `text` with the name `from`, outside strings and not an attribute, as `to`.
std::string renamed(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text[i] == '\'' || text[i] == '"') {
      end = skip_string(text, i);
    } else if (is_word(text[i])) {
      end = skip_word(text, i);
    }
    const std::string_view part = text.substr(i, end - i);
    const bool is_attribute = i > 0 && text[i - 1] == '.';
    result += part == from && !is_attribute ? to : part;
    i = end;
  }
  return result;
}

// The names in "def check(candidate):", and what stands after the colon.
struct Check {
  std::string name, parameter, body;
};

std::optional<Check> read_check(std::string_view statement) {
  if (!begins_with_word(statement, "def")) return std::nullopt;
  statement = trim(statement.substr(3));
  const size_t open = skip_word(statement, 0);
  if (open == 0 || open == statement.size() || statement[open] != '(')
    refuse_text("a function without a name");
  const size_t close = skip_brackets(statement, open);
  std::string_view parameter = trim(statement.substr(open + 1, close - open - 2));
  parameter = trim(parameter.substr(0, parameter.find(':')));
  const size_t colon = statement.find(':', close);
  if (parameter.empty() || skip_word(parameter, 0) != parameter.size() || colon == std::string_view::npos)
    refuse_text(str("the function ", statement.substr(0, open), " is not one of a single candidate"));
  return Check{std::string(statement.substr(0, open)), std::string(parameter),
               std::string(trim(statement.substr(colon + 1)))};
}

// x = [1, 2]
bool assigns_literal(std::string_view statement) {
  const size_t end = skip_word(statement, 0);
  const std::string_view rest = trim(statement.substr(end));
  return end > 0 && rest.starts_with("=") && !rest.starts_with("==") &&
         parse_python_literal(rest.substr(1)).has_value();
}

bool is_setup(std::string_view statement) {
  return begins_with_word(statement, "import") || begins_with_word(statement, "from") ||
         assigns_literal(statement);
}

// A text alone, pass, and HumanEval's METADATA.
bool says_nothing(std::string_view statement) {
  return statement == "pass" || begins_with_word(statement, "METADATA") ||
         parse_python_literal(statement).has_value();
}

// "assert True" tests nothing.
bool tests_nothing(std::string_view statement) {
  const std::string_view condition = trim(statement.substr(std::string_view("assert").size()));
  return condition == "True" || (condition.starts_with("True") && trim(condition.substr(4)).starts_with(","));
}

class Script {
 public:
  explicit Script(std::string entry_point) : candidate_(std::move(entry_point)) {}

  std::vector<CodeTest> read(std::string_view text) {
    for (const Statement& statement : split_statements(text)) take(statement);
    if (check_ && candidate_.empty())
      refuse_text(str("nothing says which function ", check_->name, " gets; add ", check_->name,
                      "(NAME) after it, or a column `entry_point`"));
    std::vector<CodeTest> tests;
    for (const auto& [assertion, is_checked] : asserts_) {
      CodeTest test =
          convert_assert(is_checked ? renamed(assertion, check_->parameter, candidate_) : assertion);
      test.setup = setup_;
      test.has_imports = is_checked;
      tests.push_back(std::move(test));
    }
    return tests;
  }

 private:
  void take(const Statement& statement) {
    if (is_inside_ && statement.indent == 0) is_inside_ = false;
    take_text(statement.text);
  }

  void take_text(const std::string& text) {
    if (begins_with_word(text, "assert")) {
      if (!tests_nothing(text)) asserts_.emplace_back(text, is_inside_);
    } else if (is_setup(text)) {
      setup_ += text + "\n";
    } else if (const auto check = read_check(text)) {
      if (check_) refuse_text("more than one function");
      check_ = check;
      is_inside_ = true;
      if (!check->body.empty()) take_text(check->body);
    } else if (check_ && !is_inside_ && text.starts_with(check_->name + "(") && text.ends_with(")")) {
      candidate_ =
          trim(std::string_view(text).substr(check_->name.size() + 1, text.size() - check_->name.size() - 2));
    } else if (!says_nothing(text)) {
      refuse_text(str("the statement ", excerpt(text),
                      " is no assert; only its outcome could judge, and that would come ",
                      "from beside the program"));
    }
  }

  std::string candidate_, setup_;
  std::optional<Check> check_;
  bool is_inside_ = false;
  std::vector<std::pair<std::string, bool>> asserts_;  // and whether it is one of the function's
};

}  // namespace

std::vector<CodeTest> read_python_tests(std::string_view text, const std::string& entry_point) {
  return Script(entry_point).read(text);
}

}  // namespace cohort
