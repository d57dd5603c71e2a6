#include "cohort/rewards/assert_test.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "cohort/rewards/assert_subject.h"
#include "cohort/rewards/python_literal.h"
#include "cohort/rewards/python_text.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

using Kind = TypedValue::Kind;

CodeTest evaluating(std::string_view expression, SubjectUse use, CodeTest::Kind kind) {
  const std::string_view text = strip_parentheses(expression);
  if (text.find('(') == std::string_view::npos) refuse_text("it calls no function");
  check_subject(text, use);
  const std::vector<Mark> marks = find_marks(text);
  const bool has_lines =
      std::any_of(marks.begin(), marks.end(), [](const Mark& mark) { return mark.text == "\n"; });
  CodeTest test;
  test.kind = kind;
  test.call = to_json_text({{"expression", has_lines ? str("(", text, ")") : std::string(text)}});
  return test;
}

struct Sides {
  TypedValue expected;
  std::string_view call;
};

// One side is a literal, the other is evaluated.
Sides take_literal(std::string_view left, std::string_view right) {
  if (std::optional<TypedValue> value = parse_python_literal(strip_parentheses(right)))
    return {std::move(*value), left};
  if (std::optional<TypedValue> value = parse_python_literal(strip_parentheses(left)))
    return {std::move(*value), right};
  refuse_text("neither side of its comparison is a literal");
}

CodeTest compare(std::string_view left, std::string_view right) {
  Sides sides = take_literal(left, right);
  const bool is_verdict = sides.expected.kind == Kind::kBool || sides.expected.kind == Kind::kNone;
  CodeTest test =
      evaluating(sides.call, is_verdict ? SubjectUse::kVerdict : SubjectUse::kValue, CodeTest::Kind::kValue);
  test.expected = std::move(sides.expected);
  return test;
}

bool is_number(const TypedValue& value) { return value.kind == Kind::kInt || value.kind == Kind::kFloat; }

double read_number(std::string_view text) {
  const std::optional<TypedValue> value = parse_python_literal(strip_parentheses(text));
  if (!value || !is_number(*value)) refuse_text("its tolerance is no number");
  const double number = value->kind == Kind::kInt ? strtod(value->text.c_str(), nullptr) : value->number;
  if (!(number >= 0.0 && std::isfinite(number))) refuse_text("its tolerance is negative or not finite");
  return number;
}

CodeTest compare_numbers(std::string_view left, std::string_view right, const Tolerance& tolerance) {
  CodeTest test = compare(left, right);
  if (!is_number(test.expected) || std::isnan(test.expected.number))
    refuse_text("what it compares with a tolerance is no number");
  test.tolerance = tolerance;
  return test;
}

// The inputs of a call of one of `names` that is all of `text`; nothing where it is no such call.
std::optional<std::string_view> inputs_of(std::string_view text,
                                          std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    if (!text.starts_with(name) || text.size() == name.size() || text[name.size()] != '(') continue;
    if (skip_brackets(text, name.size()) != text.size()) continue;
    return text.substr(name.size() + 1, text.size() - name.size() - 2);
  }
  return std::nullopt;
}

// abs(CALL - NUMBER) < TOLERANCE
CodeTest near(std::string_view left, std::string_view right, bool is_strict) {
  const std::optional<std::string_view> difference = inputs_of(strip_parentheses(left), {"abs", "math.fabs"});
  if (!difference) refuse_text("it compares with `<`");
  const std::vector<size_t> sums = find_sums(*difference);
  if (sums.size() != 1 || (*difference)[sums[0]] != '-')
    refuse_text("what it compares is not the difference of a call and a number");
  Tolerance tolerance = Tolerance::within(read_number(right));
  tolerance.is_strict = is_strict;
  if (is_strict && tolerance.absolute == 0.0) refuse_text("nothing is nearer than its tolerance");
  return compare_numbers(difference->substr(0, sums[0]), difference->substr(sums[0] + 1), tolerance);
}

// math.isclose, with Python's own defaults.
CodeTest close_to(std::string_view inputs) {
  const std::vector<std::string_view> arguments = split_at(inputs, ",");
  if (arguments.size() < 2) refuse_text("isclose needs two arguments");
  Tolerance tolerance{0.0, 1e-9, false, true};
  for (size_t i = 2; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    const std::string_view key = trim(arguments[i].substr(0, equals));
    if (equals == std::string_view::npos || (key != "rel_tol" && key != "abs_tol"))
      refuse_text("an argument of isclose is neither rel_tol nor abs_tol");
    (key == "rel_tol" ? tolerance.relative : tolerance.absolute) =
        read_number(arguments[i].substr(equals + 1));
  }
  return compare_numbers(arguments[0], arguments[1], tolerance);
}

CodeTest of_truth(std::string_view text, CodeTest::Kind kind) {
  text = strip_parentheses(text);
  if (kind == CodeTest::Kind::kTruthy) {
    if (const auto inputs = inputs_of(text, {"math.isclose", "isclose"})) return close_to(*inputs);
  }
  return evaluating(text, SubjectUse::kTruth, kind);
}

CodeTest convert_condition(std::string_view text) {
  std::vector<Mark> marks = find_marks(text);
  std::erase_if(marks, [](const Mark& mark) { return mark.text == "\n"; });
  if (marks.empty()) return of_truth(text, CodeTest::Kind::kTruthy);
  const Mark& first = marks.front();
  const std::string_view left = trim(text.substr(0, first.offset));
  const std::string_view right = trim(text.substr(first.offset + first.text.size()));
  if (marks.size() > 1) refuse_text(str("`", first.text, "` and `", marks[1].text, "` in one condition"));
  if (first.text == "==") return compare(left, right);
  if (first.text == "<" || first.text == "<=") return near(left, right, first.text == "<");
  if (first.text == "not" && left.empty()) return of_truth(right, CodeTest::Kind::kFalsy);
  if (first.text != "is") refuse_text(str("it compares with `", first.text, "`"));
  if (right != "None" && right != "True" && right != "False")
    refuse_text("`is` with more than None, True and False");
  CodeTest test = compare(left, right);
  test.is_identity = true;
  return test;
}

// The condition, without a message behind it. Nothing may follow.
std::string_view take_condition(std::string_view text) {
  std::optional<size_t> end;
  for (const Mark& mark : find_marks(text)) {
    if (mark.text == ";" || mark.text == "\n") refuse_text("more than one statement");
    if (mark.text != ",") continue;
    if (end) refuse_text("more than one message");
    end = mark.offset;
  }
  return trim(text.substr(0, end.value_or(text.size())));
}

}  // namespace

CodeTest convert_assert(std::string_view text) {
  constexpr std::string_view kAssert = "assert";
  const std::string statement = without_comments(text);
  std::string_view rest = trim(statement);
  if (!rest.starts_with(kAssert) || (rest.size() > kAssert.size() && is_word(rest[kAssert.size()])))
    refuse_text("it does not begin with assert");
  return convert_condition(strip_parentheses(take_condition(trim(rest.substr(kAssert.size())))));
}

}  // namespace cohort
