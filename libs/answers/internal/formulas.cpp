#include "libs/answers/internal/formulas.h"

#include <algorithm>
#include <cctype>

#include "libs/answers/internal/words.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

// Can it stand between two dollars, or are they signs of money around "10 and spent "?
bool is_formula(std::string_view inside, char behind) {
  const std::string_view content = trim(inside);
  const bool has_value = std::any_of(content.begin(), content.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '\\' || static_cast<unsigned char>(c) >= 0x80;
  });
  if (!has_value || is_digit(behind)) return false;
  const bool is_latex = content.find('\\') != std::string_view::npos;
  if (is_digit(inside[0])) {
    const bool is_cut = std::string_view("+-=*/,;:(<>").find(content.back()) != std::string_view::npos;
    return is_latex || (!is_cut && inside.back() != ' ' && !is_prose(content));
  }
  return inside[0] != ' ' || is_latex || !is_prose(content);
}

}  // namespace

std::optional<Formula> FormulaFinder::between(size_t position, std::string_view close,
                                              size_t last_close) const {
  const size_t begin = position + 2;
  if (last_close == std::string_view::npos || last_close < begin) return std::nullopt;
  const size_t end = text_.find(close, begin);
  const std::string_view inside = text_.substr(begin, end - begin);
  if (trim(inside).empty()) return std::nullopt;
  return Formula{inside, end + close.size() - position};
}

std::optional<Formula> FormulaFinder::dollars(size_t position) const {
  if (text_.substr(position, 2) == "$$") return between(position, "$$", last_double_);
  for (size_t end = position + 1; end < text_.size(); ++end) {
    if (text_[end] == '\\') {
      ++end;
    } else if (text_[end] == '\n' && text_.substr(end, 2) == "\n\n") {
      return std::nullopt;
    } else if (text_[end] == '$') {
      const std::string_view inside = text_.substr(position + 1, end - position - 1);
      if (!is_formula(inside, end + 1 < text_.size() ? text_[end + 1] : '\0')) return std::nullopt;
      return Formula{inside, end + 1 - position};
    }
  }
  return std::nullopt;
}

std::optional<Formula> FormulaFinder::at(size_t position) const {
  const std::string_view pair = text_.substr(position, 2);
  if (pair == "\\(") return between(position, "\\)", last_round_);
  if (pair == "\\[") return between(position, "\\]", last_square_);
  return pair.starts_with('$') ? dollars(position) : std::nullopt;
}

}  // namespace cohort::answers
