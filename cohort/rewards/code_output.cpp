// What a program printed against what it should have printed.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "cohort/rewards/code_test.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

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

bool are_words_close(std::string_view expected, std::string_view got, const Tolerance& tolerance) {
  while (true) {
    const std::string_view left = take_word(expected), right = take_word(got);
    if (left.empty() && right.empty()) return true;
    if (!is_close(left, right, tolerance)) return false;
  }
}

// The number at the beginning of `text`, with its sign and exponent; empty where there is none.
std::string_view leading_number(std::string_view text) {
  const auto skip_digits = [&](size_t i) {
    while (i < text.size() && is_digit(text[i])) ++i;
    return i;
  };
  const auto is_at = [&](size_t i, std::string_view set) {
    return i < text.size() && set.find(text[i]) != std::string_view::npos;
  };
  const size_t begin = is_at(0, "+-") ? 1 : 0;
  size_t end = skip_digits(begin);
  const bool has_point = is_at(end, ".");
  if (has_point) end = skip_digits(end + 1);
  if (end - begin <= (has_point ? 1U : 0U)) return {};
  const size_t exponent = is_at(end, "eE") ? end + (is_at(end + 1, "+-") ? 2 : 1) : end;
  if (exponent > end && exponent < text.size() && is_digit(text[exponent])) end = skip_digits(exponent);
  return text.substr(0, end);
}

bool is_float(std::string_view number) {
  return number.find('.') != std::string_view::npos || number.find_first_of("eE") != std::string_view::npos;
}

bool is_part_of_word(char c) { return is_digit(c) || is_letter(c) || c == '_' || c == '.'; }

// Equal but for numbers that are expected with a decimal point and lie within the tolerance.
bool are_floats_close(std::string_view expected, std::string_view got, const Tolerance& tolerance) {
  bool is_inside = false;  // of a word, where no number begins
  while (!expected.empty() && !got.empty()) {
    const std::string_view wanted = is_inside ? "" : leading_number(expected);
    const std::string_view found = wanted.empty() ? "" : leading_number(got);
    if (!found.empty() && is_float(wanted)) {
      const auto ends = [](std::string_view text, size_t size) {
        return size == text.size() || !is_part_of_word(text[size]);
      };
      const bool are_whole = ends(expected, wanted.size()) && ends(got, found.size());
      if (wanted != found && !(are_whole && is_close(wanted, found, tolerance))) return false;
      expected.remove_prefix(wanted.size());
      got.remove_prefix(found.size());
      is_inside = true;
      continue;
    }
    if (expected[0] != got[0]) return false;
    is_inside = is_part_of_word(expected[0]);
    expected.remove_prefix(1);
    got.remove_prefix(1);
  }
  return expected.empty() && got.empty();
}

}  // namespace

std::string find_output_fault(const CodeTest& test, const std::string& output,
                              const Tolerance& float_tolerance) {
  std::string_view expected = strip_end(test.expected_output), got = strip_end(output);
  for (int line = 1; !expected.empty() || !got.empty(); ++line) {
    const std::string_view wanted = take_line(expected), found = take_line(got);
    const bool is_same =
        wanted == found || (test.tolerance ? are_words_close(wanted, found, *test.tolerance)
                                           : are_floats_close(wanted, found, float_tolerance));
    if (!is_same)
      return str("wrong output in line ", line, ", ", excerpt(found), " instead of ", excerpt(wanted));
  }
  return "";
}

}  // namespace cohort
