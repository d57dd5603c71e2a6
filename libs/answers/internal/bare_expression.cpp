#include "libs/answers/internal/bare_expression.h"

#include <algorithm>

#include "libs/answers/internal/foreign_text.h"
#include "libs/answers/internal/numeral.h"
#include "libs/answers/internal/stands_alone.h"
#include "libs/answers/internal/symbols.h"
#include "libs/answers/internal/units.h"
#include "libs/answers/internal/words.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

bool is_one_of(char c, std::string_view set) { return c != '\0' && set.find(c) != std::string_view::npos; }

class Run {
 public:
  Run(std::string_view text, size_t begin, const FormulaFinder& formulas)
      : text_(text), formulas_(formulas), begin_(begin), position_(begin), end_(begin) {}

  BareExpression read() {
    for (int num_steps = 0; position_ < text_.size() && step(); ++num_steps) {
      const bool is_value_late = end_ == begin_ && num_steps >= kMaxSigns;
      if (is_value_late) break;
      is_cut_ = is_cut_ || position_ - begin_ > kMaxBytes;
      if (position_ - begin_ > kMaxBytes) break;
    }
    if (end_ == begin_) return {begin_};
    const bool is_operand_missing =
        last_ == Last::kOperator && is_sign_ && formulas_.at(skip_spaces(position_));
    return {end_, is_cut_ || is_operand_missing || !stands_alone(text_, begin_, end_)};
  }

 private:
  static constexpr size_t kMaxBytes = 1000;
  static constexpr int kMaxSigns = 4;  // before the first value
  static constexpr int kMaxDepth = 8;
  static constexpr size_t kMaxBracketBytes = 200;
  enum class Last { kNothing, kOperator, kNumber, kValue };

  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  bool has_value() const { return last_ == Last::kNumber || last_ == Last::kValue; }
  size_t skip_spaces(size_t position) const {
    while (at(position) == ' ' || at(position) == '\t') ++position;
    return position;
  }

  bool take_value(size_t end, Last last = Last::kValue) {
    position_ = end_ = end;
    last_ = last;
    return true;
  }
  bool take_operator(size_t end) {
    is_sign_ = at(end - 1) != '=';
    is_function_ = false;
    position_ = end;
    last_ = Last::kOperator;
    return true;
  }

  // Takes one token; false where the run ends.
  bool step() {
    const size_t start = skip_spaces(position_);
    has_space_ = start > position_;
    const char c = at(start);
    const bool is_point = c == '.' && is_digit(at(start + 1)) && (start == 0 || text_[start - 1] != '.');
    if (is_digit(c) || is_point) return number(start);
    if (is_letter(c)) return letters(start);
    if (c == '\\') return command(start);
    if (c == '$') return money(start, 1);
    if (is_one_of(c, "([{|")) return bracket(start);
    if (static_cast<unsigned char>(c) >= 0x80) return sign(start);
    return punctuation(start);
  }

  // Behind a number only the fraction of a mixed one.
  bool number(size_t start) {
    const Numeral numeral = is_digit(at(start))
                                ? read_numeral(text_, start, true)
                                : Numeral{text_.find_first_not_of("0123456789", start + 1), true, ""};
    size_t end = std::min(numeral.end, text_.size());
    if (has_value() && has_space_ && !(last_ == Last::kNumber && at(end) == '/' && is_digit(at(end + 1)))) {
      is_cut_ = true;  // two numbers side by side
      return false;
    }
    is_cut_ = is_cut_ || !numeral.is_whole;
    end = behind_exponent(end);
    const bool is_hexadecimal =
        numeral.plain == "0" && is_one_of(at(end), "xXbo") && is_alphanumeric(at(end + 1));
    is_cut_ = is_cut_ || is_hexadecimal;
    take_value(behind_repetition(start, end), Last::kNumber);
    const std::string_view suffix = text_.substr(end, 2);
    const bool is_ordinal = suffix == "st" || suffix == "nd" || suffix == "rd" || suffix == "th";
    if (is_ordinal && !is_letter(at(end + 2))) {
      take_value(end + 2);
      return false;
    }
    return true;
  }

  // The dots of 0.333... and the point of 0.\overline{3} and 0.(3).
  size_t behind_repetition(size_t start, size_t end) const {
    const std::string_view rest = text_.substr(end);
    const bool is_decimal = text_.substr(start, end - start).find('.') != std::string_view::npos;
    if (is_decimal && rest.starts_with("...")) return end + 3;
    if (is_decimal && rest.starts_with("…")) return end + 3;
    for (const std::string_view point : {".\\overline", ".\\bar", ".\\dot"}) {
      if (rest.starts_with(point)) return end + 1;
    }
    return rest.starts_with(".(") && is_digit(at(end + 2)) ? end + 1 : end;
  }

  static bool is_alphanumeric(char c) { return is_digit(c) || is_letter(c); }

  // 1e5, 2.5E-3
  size_t behind_exponent(size_t position) const {
    if (!is_one_of(at(position), "eE")) return position;
    const size_t digits = position + 1 + is_one_of(at(position + 1), "+-");
    size_t end = digits;
    while (is_digit(at(end))) ++end;
    return end > digits && !is_letter(at(end)) ? end : position;
  }

  bool money(size_t start, size_t length) {
    if (has_value() || !is_digit(at(start + length)) || formulas_.at(start)) return false;
    position_ = start + length;
    return true;
  }

  // The end of the brackets that open here, with mathematics alone between them.
  size_t closing(size_t start) const {
    int depth = 0;
    const size_t stop = std::min(text_.size(), start + kMaxBracketBytes);
    for (size_t i = start; i < stop && text_[i] != '\n'; ++i) {
      if (is_one_of(text_[i], "([{") && ++depth > kMaxDepth) return start;
      if (is_one_of(text_[i], ")]}") && --depth == 0) return i + 1;
    }
    return start;
  }

  bool bracket(size_t start) {
    if (last_ == Last::kNumber && has_space_) return false;  // a remark: 5 (five)
    size_t end = start;
    if (at(start) == '|') {
      const size_t close = text_.substr(start + 1, kMaxBracketBytes).find('|');
      if (close != std::string_view::npos) end = start + close + 2;
    } else {
      end = closing(start);
    }
    return end > start && !is_prose(text_.substr(start, end - start)) && take_value(end);
  }

  bool command(size_t start) {
    const char next = at(start + 1);
    if (next == '$') return money(start, 2);
    if (next == '%') return has_value() && take_value(start + 2);
    if (next == '{') return bracket(start + 1);
    if (is_one_of(next, ",;! ")) {
      position_ = start + 2;
      return true;
    }
    size_t end = start + 1;
    while (is_letter(at(end))) ++end;
    const std::optional<Command> known = find_command(text_.substr(start + 1, end - start - 1));
    if (!known) return false;
    position_ = end;
    if (known->kind == CommandKind::kIgnored) return true;
    if (known->meaning == "degree") return has_value() && take_value(end);
    if (known->kind == CommandKind::kPunctuation) return take_operator(end);
    if (known->kind == CommandKind::kFunction) return take_operator(end);
    const size_t behind = behind_groups(end);
    const bool is_closing = known->meaning == "rfloor" || known->meaning == "rceil";
    const bool wants_operand = known->kind == CommandKind::kStructure && behind == end && !is_closing;
    return wants_operand ? take_operator(end) : take_value(behind);
  }

  // Behind the arguments of a command: [3]{2}.
  size_t behind_groups(size_t position) const {
    for (int i = 0; i < 3 && is_one_of(at(position), "{["); ++i) {
      const size_t end = closing(position);
      if (end == position) return position;
      position = end;
    }
    return position;
  }

  bool sign(size_t start) {
    size_t length = 0;
    const std::optional<std::string_view> latex = find_sign(text_.substr(start), length);
    if (!latex || *latex == "'" || *latex == "\"") return false;
    const size_t end = start + length;
    if (*latex == " " || latex->empty()) {
      position_ = end;
      return true;
    }
    const bool is_dash = text_.substr(start, length) == "–" && has_space_ && at(end) == ' ';
    if (is_dash) return false;
    if (latex->starts_with('^') || latex->starts_with("_{") || *latex == "\\degree ")
      return has_value() && take_value(end);
    if (latex->starts_with("\\text")) return has_value() && take_value(end);  // cents
    const std::optional<Command> known =
        latex->starts_with('\\') ? find_command(latex->substr(1, latex->find(' ') - 1)) : std::nullopt;
    const bool is_amount =
        known && (known->meaning == "hundredth" || known->meaning == "permille" ||
                  known->meaning == "permyriad" || known->meaning == "rfloor" || known->meaning == "rceil" ||
                  (is_currency(known->meaning) && has_value()));
    if (is_amount) return has_value() && take_value(end);
    const bool is_value =
        *latex == "0" || latex->starts_with("\\frac") || (known && known->kind == CommandKind::kSymbol);
    return is_value ? take_value(end) : take_operator(end);
  }

  bool punctuation(size_t start) {
    const char c = at(start), next = at(start + 1);
    const bool is_attached = has_value() && !has_space_;
    switch (c) {
      case '%':
        return has_value() && take_value(start + 1);
      case '!':
        return is_attached && (next == '=' ? take_operator(start + 2) : take_value(start + 1));
      case ':':
        return last_ == Last::kNumber && is_digit(at(skip_spaces(start + 1))) &&
               has_space_ == (next == ' ') && take_operator(start + 1);
      case '*':
        if (next != '*') return has_value() && take_operator(start + 1);
        return is_attached && (is_digit(at(start + 2)) || at(start + 2) == '(') && take_operator(start + 2);
      case '^':
      case '_':
        return (is_attached || (is_function_ && !has_space_)) && take_operator(start + 1);
      case '/':
        return has_value() && next != '/' && take_operator(start + 1);
      case '<':
        return has_value() && !is_letter(next) && next != '/' && take_operator(start + 1 + (next == '='));
      case '=':
      case '>':
        return has_value() && next != '>' && take_operator(start + 1 + (next == '='));
      case '+':
      case '-':
        return plus_or_minus(start);
      default:
        return false;
    }
  }

  // Neither a hyphen as in 5-year nor an arrow.
  bool plus_or_minus(size_t start) {
    const char next = at(start + 1);
    const bool is_word = is_letter(next) && is_letter(at(start + 2));
    if (next == '>' || next == at(start) || is_word) return false;
    if (last_ == Last::kNothing && next == ' ') return false;  // the sign of a list
    return take_operator(start + 1);
  }

  // Is what follows a name a sign that only mathematics has?
  bool operator_follows(size_t position) const {
    const size_t behind = skip_spaces(position);
    const char c = at(behind), next = at(behind + 1);
    if (is_one_of(c, "=^_+")) return true;
    if (is_one_of(c, "<>*/")) return next == ' ' || is_digit(next) || (is_letter(next) && c == '/');
    if (c == '-') return next == ' ' || is_digit(next) || (is_letter(next) && !is_letter(at(behind + 2)));
    size_t length = 0;
    const auto latex = find_sign(text_.substr(std::min(behind, text_.size())), length);
    return latex && latex->size() > 1 && !latex->starts_with("\\R");
  }

  bool letters(size_t start) {
    size_t end = start;
    while (is_letter(at(end))) ++end;
    const std::string_view run = text_.substr(start, end - start);
    if (foreign_letter_length(text_, end) > 0) return false;  // años
    if (const std::optional<Command> word = find_word(run)) return known_word(*word, end);
    if (last_ == Last::kNumber && !has_space_)
      return (run.size() <= 3 || is_unit_name(run)) && take_value(end);
    const bool is_raised = is_one_of(at(end), "^/") || starts_superscript(end);
    const bool is_divisor = last_ == Last::kOperator && text_[start - 1] == '/';
    if (((has_value() && is_raised) || is_divisor) && is_unit_name(run)) return take_value(end);
    if (run == "x" && last_ == Last::kNumber && is_digit(at(skip_spaces(end)))) return take_operator(end);
    if (run.size() == 1) return letter(start, end);
    if (is_wordy(run) || run.size() > 3) return false;
    const bool is_product = is_one_of(at(end), "^_") || at(skip_spaces(end)) == '=';
    return is_product && !has_value() && take_value(end);
  }

  bool starts_superscript(size_t position) const {
    const std::string_view rest = text_.substr(std::min(position, text_.size()));
    return rest.starts_with("²") || rest.starts_with("³");
  }

  bool known_word(const Command& word, size_t end) {
    if (word.kind == CommandKind::kPunctuation) return false;  // and, or
    if (word.kind == CommandKind::kSymbol) {
      return (last_ != Last::kNothing || operator_follows(end)) && take_value(end);
    }
    const char next = at(skip_spaces(end));
    const bool has_argument = is_one_of(next, "(\\^_") || is_digit(next) ||
                              (is_letter(next) && !is_letter(at(skip_spaces(end) + 1)));
    if (!has_argument) return false;
    take_operator(end);
    return is_function_ = true;
  }

  // A variable, and not the word of one letter.
  bool letter(size_t start, size_t end) {
    const char behind = at(skip_spaces(end));
    const bool is_word = is_one_of(at(start), "aAI") && at(end) == ' ' && is_letter(behind);
    const bool is_half_of_day = has_space_ && is_one_of(at(start), "aApP") && at(end) == '.' &&
                                is_one_of(at(end + 1), "mM") && !is_letter(at(end + 2));
    if (is_word || is_half_of_day || at(end) == '\'' || is_digit(at(end))) return false;
    if (operator_follows(end) || at(end) == '(') return take_value(end);
    if (last_ == Last::kNothing) return false;
    return take_value(end);
  }

  std::string_view text_;
  const FormulaFinder& formulas_;
  size_t begin_, position_, end_;
  Last last_ = Last::kNothing;
  bool has_space_ = false, is_sign_ = false, is_function_ = false, is_cut_ = false;
};

}  // namespace

BareExpression read_bare_expression(std::string_view text, size_t begin, const FormulaFinder& formulas) {
  return Run(text, begin, formulas).read();
}

}  // namespace cohort::answers
