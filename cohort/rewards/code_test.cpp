#include "cohort/rewards/code_test.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/assert_test.h"
#include "cohort/rewards/exact_json.h"

namespace cohort {
namespace {

void check_keys(const Json& test, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : test.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw FormatError(str("unknown key \"", key, "\""));
  }
}

std::string read_text(const Json& test, const char* key) {
  const auto member = test.find(key);
  if (member == test.end() || !member->is_string()) throw FormatError(str("\"", key, "\" must be a text"));
  return member->get<std::string>();
}

std::optional<Tolerance> read_tolerance(const Json& test) {
  const auto member = test.find("tolerance");
  if (member == test.end()) return std::nullopt;
  const double tolerance = member->is_number() ? member->get<double>() : -1.0;
  if (!(tolerance >= 0.0 && std::isfinite(tolerance)))
    throw FormatError("\"tolerance\" must be a number that is not negative");
  return Tolerance::within(tolerance);
}

CodeTest read_output_test(const Json& json) {
  check_keys(json, {"stdin", "stdout", "tolerance"});
  CodeTest test;
  test.input = json.contains("stdin") ? read_text(json, "stdin") : "";
  test.expected_output = read_text(json, "stdout");
  test.tolerance = read_tolerance(json);
  return test;
}

CodeTest read_call_test(const Json& json) {
  check_keys(json, {"call", "args", "kwargs", "expected", "tolerance"});
  CodeTest test;
  test.kind = CodeTest::Kind::kValue;
  const Json args = json.value("args", Json::array()), kwargs = json.value("kwargs", Json::object());
  if (!args.is_array()) throw FormatError("\"args\" must be a list");
  if (!kwargs.is_object()) throw FormatError("\"kwargs\" must be an object");
  if (!json.contains("expected")) throw FormatError("\"expected\" is missing");
  test.call = to_python_json({{"call", read_text(json, "call")}, {"args", args}, {"kwargs", kwargs}});
  test.expected = from_json(json.at("expected"));
  test.tolerance = read_tolerance(json);
  return test;
}

CodeTest read_test(const Json& json) {
  if (json.is_string()) return convert_assert(json.get<std::string>());
  if (!json.is_object()) throw FormatError("it is neither an object nor an assert");
  if (json.contains("call")) return read_call_test(json);
  if (json.contains("stdout")) return read_output_test(json);
  throw FormatError("it has neither \"call\" nor \"stdout\"");
}

std::string_view strip_end(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n\f\v");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Takes the first line, without the blanks at its end.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = strip_end(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  line = trim(line);
  const std::string_view word = line.substr(0, line.find_first_of(" \t\r\n\f\v"));
  line.remove_prefix(word.size());
  return word;
}

bool is_close(std::string_view expected, std::string_view got, const Tolerance& tolerance) {
  if (expected == got) return true;
  const std::string left(expected), right(got);
  char *left_end = nullptr, *right_end = nullptr;
  const double wanted = strtod(left.c_str(), &left_end), found = strtod(right.c_str(), &right_end);
  const auto is_number = [](const std::string& word, const char* end) {
    return !word.empty() && end == word.c_str() + word.size();
  };
  if (!is_number(left, left_end) || !is_number(right, right_end)) return false;
  return is_equal(TypedValue::of_float(wanted), TypedValue::of_float(found), tolerance);
}

bool is_same_line(std::string_view expected, std::string_view got,
                  const std::optional<Tolerance>& tolerance) {
  if (!tolerance || expected == got) return expected == got;
  while (true) {
    const std::string_view left = take_word(expected), right = take_word(got);
    if (left.empty() && right.empty()) return true;
    if (!is_close(left, right, *tolerance)) return false;
  }
}

}  // namespace

std::vector<CodeTest> read_code_tests(const Json& fields) {
  const auto column = fields.find("tests");
  if (column == fields.end()) throw FormatError("the row has no column `tests`");
  const bool is_text = column->is_string();
  const Json list = is_text ? parse_exact_json(column->get<std::string>()) : *column;
  if (!list.is_array() || list.empty()) throw FormatError("column `tests` is no list of tests");
  std::vector<CodeTest> tests;
  for (const Json& entry : list) {
    try {
      if (!is_text) refuse_rounded(entry);
      tests.push_back(read_test(entry));
    } catch (const FormatError& error) {
      const std::string text = entry.is_string() ? entry.get<std::string>() : entry.dump(-1, ' ', true);
      throw FormatError(
          str("test ", tests.size() + 1, " can't be read, ", excerpt(text), ": ", error.what()));
    }
  }
  return tests;
}

std::string find_output_fault(const CodeTest& test, const std::string& output) {
  std::string_view expected = strip_end(test.expected_output), got = strip_end(output);
  for (int line = 1; !expected.empty() || !got.empty(); ++line) {
    const std::string_view wanted = take_line(expected), found = take_line(got);
    if (is_same_line(wanted, found, test.tolerance)) continue;
    return str("wrong output in line ", line, ", ", excerpt(found), " instead of ", excerpt(wanted));
  }
  return "";
}

std::string find_value_fault(const CodeTest& test, const std::string& result) {
  const std::optional<TypedValue> value = read_typed_value(result);
  if (!value) return "no value was returned";
  if (test.kind != CodeTest::Kind::kValue) {
    const bool wanted = test.kind == CodeTest::Kind::kTruthy;
    const bool is_right = value->kind != TypedValue::Kind::kOther && is_truthy(*value) == wanted;
    return is_right ? "" : str("wrong value, ", describe(*value), " is not ", wanted ? "true" : "false");
  }
  const bool is_kind = !test.is_identity || value->kind == test.expected.kind;
  if (is_kind && is_equal(test.expected, *value, test.tolerance.value_or(Tolerance()))) return "";
  return str("wrong value, ", describe(*value), " instead of ", describe(test.expected));
}

}  // namespace cohort
