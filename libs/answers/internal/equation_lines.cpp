#include "libs/answers/internal/equation_lines.h"

#include <algorithm>
#include <vector>

#include "libs/answers/internal/words.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

constexpr size_t kMaxLines = 64, kMaxLineBytes = 200;

struct Equation {
  std::string_view name, text;
};

// The line without delimiters and what ends a sentence.
std::string_view bare_line(std::string_view line) {
  line = without_bullet(trim(line));
  constexpr std::string_view kAround = " \t\r$*.,;";
  const auto strip = [&line](std::string_view open, std::string_view close) {
    if (line.starts_with(open)) line.remove_prefix(open.size());
    if (line.ends_with(close)) line.remove_suffix(close.size());
  };
  for (int i = 0; i < 2; ++i) {
    const size_t begin = std::min(line.find_first_not_of(kAround), line.size());
    line = line.substr(begin, line.find_last_not_of(kAround) + 1 - begin);
    strip("\\(", "\\)");
    strip("\\[", "\\]");
  }
  return trim(line);
}

// A letter, perhaps with an index, that equals something.
std::optional<Equation> read_equation(std::string_view line) {
  if (line.size() > kMaxLineBytes) return std::nullopt;
  line = bare_line(line);
  const size_t sign = line.find('=');
  if (sign == std::string_view::npos || sign + 1 == line.size()) return std::nullopt;
  const std::string_view name = trim(line.substr(0, sign));
  const bool is_name = !name.empty() && is_letter(name[0]) && (name.size() == 1 || name[1] == '_') &&
                       name.find(' ') == std::string_view::npos && name.size() <= 8;
  if (!is_name || is_prose(line)) return std::nullopt;
  return Equation{name, line};
}

// Does the value of one use the name of another?
bool builds_on(const Equation& equation, const Equation& other) {
  const std::string_view value = equation.text.substr(equation.text.find('=') + 1);
  const char name = other.name[0];
  for (size_t i = 0; i < value.size(); ++i) {
    const bool is_alone = (i == 0 || (!is_letter(value[i - 1]) && value[i - 1] != '\\')) &&
                          (i + 1 == value.size() || !is_letter(value[i + 1]));
    if (value[i] == name && is_alone) return true;
  }
  return false;
}

std::optional<std::string> join(const std::vector<Equation>& equations) {
  if (equations.size() < 2) return std::nullopt;
  std::string list;
  for (size_t i = 0; i < equations.size(); ++i) {
    for (size_t k = 0; k < equations.size(); ++k) {
      if (k != i && (equations[k].name == equations[i].name || builds_on(equations[i], equations[k])))
        return std::nullopt;
    }
    if (i > 0) list += ", ";
    list += equations[i].text;
  }
  return list;
}

}  // namespace

std::optional<std::string> leading_equations(std::string_view text) {
  std::vector<Equation> equations;
  while (!text.empty() && equations.size() < kMaxLines) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const auto equation = read_equation(line);
    if (!equation) break;
    equations.push_back(*equation);
  }
  return join(equations);
}

std::optional<std::string> trailing_equations(std::string_view text) {
  std::vector<Equation> equations;
  for (text = trim(text); !text.empty() && equations.size() < kMaxLines; text = trim(text)) {
    const size_t end = text.rfind('\n');
    const size_t begin = end == std::string_view::npos ? 0 : end + 1;
    const auto equation = read_equation(text.substr(begin));
    if (!equation) break;
    equations.insert(equations.begin(), *equation);
    text = text.substr(0, begin);
  }
  return join(equations);
}

std::string_view without_bullet(std::string_view line) {
  for (const std::string_view bullet : {"- ", "* ", "+ ", "• "}) {
    if (line.starts_with(bullet)) return trim(line.substr(bullet.size()));
  }
  return line;
}

}  // namespace cohort::answers
