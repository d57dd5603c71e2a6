#include "libs/answers/internal/box_formula.h"

#include <algorithm>

#include "libs/answers/internal/formulas.h"
#include "libs/answers/internal/parser.h"
#include "libs/answers/internal/tidy.h"
#include "libs/answers/internal/units.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

using Kind = BoxToken::Kind;

// Where the expression around a box is looked for.
Span find_region(std::string_view text, Span box, std::optional<Span> formula) {
  constexpr size_t kMaxBytes = 600;
  Span region = {box.begin - std::min(box.begin, kMaxBytes), std::min(text.size(), box.end + kMaxBytes)};
  if (formula) return {std::max(region.begin, formula->begin), std::min(region.end, formula->end)};
  const size_t line = text.substr(0, box.begin).rfind('\n');
  if (line != std::string_view::npos) region.begin = std::max(region.begin, line + 1);
  return region;
}

class BoxReader {
 public:
  BoxReader(std::string_view text, Span region, Span box, std::string_view inside, bool is_formula)
      : text_(text), box_(box), expression_(tidy(inside)), is_formula_(is_formula) {
    tokens_ = read_box_tokens(text, region, box, is_formula);
    const auto own = std::find_if(tokens_.begin(), tokens_.end(),
                                  [](const BoxToken& token) { return token.kind == Kind::kBox; });
    first_ = last_ = static_cast<size_t>(own - tokens_.begin());
  }

  BoxFormula read() {
    if (first_ == tokens_.size()) return {std::nullopt, box_.begin, box_.end, {}};
    do {
      widen();
    } while (take_group());
    const std::string_view next_words = words_behind();
    take_number_word(next_words);
    BoxFormula found = {expression_, tokens_[first_].begin, tokens_[last_].end, next_words};
    ParseFailure failure;
    if (is_cut_ || (is_changed_ && !parse(expression_, failure))) found.text = std::nullopt;
    return found;
  }

 private:
  static bool is_bound(const BoxToken& token) {
    return token.kind == Kind::kStop || token.kind == Kind::kOpen || token.kind == Kind::kClose;
  }

  std::string_view token_text(size_t token) const {
    return text_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
  }

  // Do these neighbours belong together? In prose a space parts values, and so it does before a sign: 20 -5.
  bool are_joined(size_t left) const {
    const BoxToken &a = tokens_[left], &b = tokens_[left + 1];
    if (is_formula_ || !b.has_space) return true;
    const bool is_sign =
        b.kind == Kind::kOperator && (token_text(left + 1) == "-" || token_text(left + 1) == "+");
    if (is_sign && left + 2 < tokens_.size() && !tokens_[left + 2].has_space) return false;
    return a.kind == Kind::kOperator || b.kind == Kind::kOperator;
  }

  // Takes what touches the expression in its group.
  void widen() {
    size_t first = first_, last = last_;
    while (first > 0 && !is_bound(tokens_[first - 1]) && are_joined(first - 1)) --first;
    while (last + 1 < tokens_.size() && !is_bound(tokens_[last + 1]) && are_joined(last)) ++last;
    while (first < first_ && is_decoration_before(first)) ++first;
    while (last > last_ && is_decoration_behind(last)) --last;
    if (first < first_ || last > last_) join(first, last);
    first_ = first;
    last_ = last;
  }

  // The sign of a list, a quotation or emphasis in front.
  bool is_decoration_before(size_t token) const {
    const std::string_view sign = token_text(token);
    const bool is_apart = tokens_[token + 1].has_space;
    return !is_formula_ &&
           (sign == "*" || (is_apart && (sign == "-" || sign == "–" || sign == "+" || sign == ">")));
  }

  // Emphasis, a dash or hyphen before words, a unit below a line.
  bool is_decoration_behind(size_t token) const {
    const std::string_view sign = token_text(token);
    const bool has_words = token + 1 < tokens_.size() && !tokens_[token + 1].words.empty();
    if (sign == "/" && has_words) return true;
    return !is_formula_ &&
           (sign == "*" || ((sign == "-" || sign == "–") && (has_words || tokens_[token].has_space)));
  }

  void join(size_t first, size_t last) {
    const std::string_view before =
        text_.substr(tokens_[first].begin, tokens_[first_].begin - tokens_[first].begin);
    const std::string_view behind = text_.substr(tokens_[last_].end, tokens_[last].end - tokens_[last_].end);
    is_cut_ = is_cut_ || has_box(before) || has_box(behind);
    const bool is_number = !is_changed_ && expression_.find_first_not_of("0123456789.,") == std::string::npos;
    const bool is_apart = before.empty() && !behind.empty() && !is_digit(behind[0]) && behind[0] != '.';
    const bool is_argument =
        first < first_ && (before.back() == '^' || before.back() == '_' || is_letter(before.back()));
    expression_ = is_grouped_             ? str(before, expression_, behind)
                  : is_number && is_apart ? str(expression_, behind)
                  : is_argument           ? str(before, "{(", expression_, ")}", behind)
                                          : str(before, "(", expression_, ")", behind);
    is_changed_ = true;
  }

  static bool has_box(std::string_view text) {
    return text.find("\\boxed") != std::string_view::npos || text.find("\\fbox") != std::string_view::npos;
  }

  // Goes on with the group that the expression fills, as in \sqrt{\boxed{3}}; false where there is none.
  bool take_group() {
    const bool is_opened = first_ > 0 && tokens_[first_ - 1].kind == Kind::kOpen;
    const bool is_closed = last_ + 1 < tokens_.size() && tokens_[last_ + 1].kind == Kind::kClose;
    if (!is_opened || !is_closed) {
      is_cut_ = is_cut_ || is_inside_of_function();
      return false;
    }
    const BoxToken &open = tokens_[--first_], &close = tokens_[++last_];
    if (open.changes_value || is_changed_) {
      const std::string_view opening = text_.substr(open.begin, open.end - open.begin);
      expression_ = open.changes_value ? str(opening, is_changed_ ? expression_ : str("(", expression_, ")"),
                                             text_.substr(close.begin, close.end - close.begin))
                                       : str("(", expression_, ")");
      is_changed_ = is_grouped_ = true;
    }
    return true;
  }

  // With other things that end an expression: \sqrt{x = \boxed{3}}.
  bool is_inside_of_function() const {
    return std::any_of(tokens_.begin(), tokens_.begin() + first_, [](const BoxToken& token) {
      return token.kind == Kind::kOpen && token.changes_value;
    });
  }

  std::string_view words_behind() const {
    return last_ + 1 < tokens_.size() && tokens_[last_ + 1].kind == Kind::kStop
               ? trim(tokens_[last_ + 1].words)
               : std::string_view();
  }

  // 25 percent, 3 million
  void take_number_word(std::string_view words) {
    if (words != "percent" && !find_number_word(words)) return;
    expression_ += str(" ", words);
    is_changed_ = true;
  }

  std::string_view text_;
  Span box_;
  std::string expression_;
  bool is_formula_;
  std::vector<BoxToken> tokens_;
  size_t first_ = 0, last_ = 0;  // tokens that the expression is made of
  bool is_changed_ = false, is_grouped_ = false, is_cut_ = false;
};

// -$\boxed{5}$, with nothing in front to subtract from.
bool has_minus_before(std::string_view before) {
  for (const std::string_view open : {"$$", "$", "\\(", "\\["}) {
    if (!before.ends_with(open)) continue;
    before.remove_suffix(open.size());
    break;
  }
  for (const std::string_view minus : {"-", "−"}) {
    if (!before.ends_with(minus)) continue;
    before.remove_suffix(minus.size());
    return before.empty() || std::string_view(" \t\n$=({[:*").find(before.back()) != std::string_view::npos;
  }
  return false;
}

}  // namespace

std::vector<Span> find_formulas(std::string_view text) {
  const FormulaFinder finder(text);
  std::vector<Span> formulas;
  for (size_t i = 0; i < text.size();) {
    const auto formula = text[i] == '$' || text[i] == '\\' ? finder.at(i) : std::nullopt;
    if (formula) {
      const size_t begin = static_cast<size_t>(formula->inside.data() - text.data());
      formulas.push_back({begin, begin + formula->inside.size()});
      i += formula->length;
    } else {
      i += text[i] == '\\' && text.substr(i, 2) != "\\(" && text.substr(i, 2) != "\\[" ? 2 : 1;
    }
  }
  return formulas;
}

BoxFormula read_box(std::string_view text, Span box, std::string_view inside, std::optional<Span> formula) {
  BoxFormula found =
      BoxReader(text, find_region(text, box, formula), box, inside, formula.has_value()).read();
  const bool is_first = formula && trim(text.substr(formula->begin, found.begin - formula->begin)).empty();
  if (found.text && is_first && has_minus_before(text.substr(0, formula->begin)))
    found.text = str("-(", *found.text, ")");
  return found;
}

}  // namespace cohort::answers
