#include "libs/answers/internal/box_tokens.h"

#include <algorithm>

#include "libs/answers/internal/symbols.h"
#include "libs/answers/internal/units.h"
#include "libs/answers/internal/words.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

using Kind = BoxToken::Kind;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> set) {
  return std::find(set.begin(), set.end(), text) != set.end();
}

// What a command does to the box beside it.
Kind kind_of(const Command& command) {
  switch (command.kind) {
    case CommandKind::kSymbol:
      return Kind::kOperand;
    case CommandKind::kFunction:
      return Kind::kOperator;
    case CommandKind::kPunctuation:
      return is_one_of(command.meaning,
                       {"times", "*", "/", "<=", ">=", "!=", "<", ">", "+-", "-+", "cup", "cap", "setminus",
                        "land", "lor", "|", "hundredth", "permille", "permyriad"})
                 ? Kind::kOperator
                 : Kind::kStop;
    case CommandKind::kStructure:
      if (is_one_of(command.meaning, {"choose", "over", "lfloor", "rfloor", "lceil", "rceil"}))
        return Kind::kOperator;
      return is_currency(command.meaning) ||
                     is_one_of(command.meaning, {"begin", "end", "ldots", "pmod", "\\"})
                 ? Kind::kStop
                 : Kind::kOperand;
    case CommandKind::kUnsupported:
      return is_one_of(command.meaning, {"int", "iint", "oint", "sum", "prod", "lim", "max", "min", "sup",
                                         "inf", "gcd", "lcm", "det", "partial", "nabla"})
                 ? Kind::kOperator
                 : Kind::kStop;
    default:
      return Kind::kStop;
  }
}

class Reader {
 public:
  Reader(std::string_view text, Span region, Span box, bool is_formula)
      : text_(text), region_(region), box_(box), is_formula_(is_formula), position_(region.begin) {}

  std::vector<BoxToken> read() {
    while (position_ < region_.end) step();
    return std::move(tokens_);
  }

 private:
  char at(size_t position) const { return position < region_.end ? text_[position] : '\0'; }
  std::string_view rest() const { return text_.substr(position_, region_.end - position_); }

  void space(size_t length) {
    position_ += length;
    has_space_ = true;
  }

  void push(Kind kind, size_t end) {
    tokens_.push_back({kind, position_, end, has_space_});
    position_ = end;
    has_space_ = false;
  }

  void step() {
    const char c = at(position_);
    if (position_ == box_.begin) return push(Kind::kBox, box_.end);
    if (c == '\n' && !is_formula_) return push(Kind::kStop, position_ + 1);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '~') return space(1);
    if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) return number();
    if (is_letter(c)) return letters();
    if (c == '\\') return command();
    if (c == '{' || c == '(') return group(position_, position_, true, false);
    if (c == '}' || c == ')') return closing();
    if (static_cast<unsigned char>(c) >= 0x80) return sign();
    punctuation(c);
  }

  void number() {
    size_t end = position_;
    while (is_digit(at(end)) || ((at(end) == '.' || at(end) == ',') && is_digit(at(end + 1)))) ++end;
    push(Kind::kOperand, end);
  }

  void letters() {
    size_t end = position_;
    while (is_letter(at(end))) ++end;
    const std::string_view run = text_.substr(position_, end - position_);
    const std::optional<Command> word = find_word(run);
    if (word) return push(word->kind == CommandKind::kStructure ? Kind::kOperator : kind_of(*word), end);
    const bool is_product =
        run.size() == 1 || (is_formula_ && run.size() <= 3 && !is_wordy(run) && !is_unit_name(run));
    push(is_product ? Kind::kOperand : Kind::kStop, end);
    if (!is_product) tokens_.back().words = run;
  }

  // Behind the group of braces or brackets that begins at `open`; `open` where it does not close.
  size_t group_end(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < region_.end; ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == text_[open]) {
        ++depth;
      } else if (text_[i] == (text_[open] == '{' ? '}' : text_[open] == '(' ? ')' : ']') && --depth == 0) {
        return i + 1;
      }
    }
    return open;
  }

  size_t skip_spaces(size_t position) const {
    while (at(position) == ' ') ++position;
    return position;
  }

  // A group at `open`, whose token begins at `begin`: opened where the box is inside.
  void group(size_t begin, size_t open, bool is_operand, bool changes_value) {
    const size_t end = group_end(open);
    position_ = begin;
    if (end == open) return push(Kind::kStop, open + 1);
    if (open < box_.begin && box_.begin < end) {
      push(Kind::kOpen, open + 1);
      tokens_.back().changes_value = changes_value;
      return;
    }
    push(is_operand && !(text_[open] == '(' && is_remark(open, end)) ? Kind::kOperand : Kind::kStop, end);
  }

  // (five), (\bmod 5)
  bool is_remark(size_t open, size_t end) const {
    const std::string_view inside = text_.substr(open, end - open);
    return inside.find("mod") != std::string_view::npos || inside.find("\\text") != std::string_view::npos ||
           is_prose(inside);
  }

  void closing() {
    const bool is_opened = std::any_of(tokens_.begin(), tokens_.end(),
                                       [](const BoxToken& token) { return token.kind == Kind::kOpen; });
    if (!is_opened || position_ < box_.end) return push(Kind::kStop, position_ + 1);
    size_t end = position_ + 1;
    while (text_[position_] == '}' && at(end) == '{' && group_end(end) > end) end = group_end(end);
    push(Kind::kClose, end);
  }

  void command() {
    const char next = at(position_ + 1);
    if (!is_letter(next)) {
      if (std::string_view(",;:! ").find(next) != std::string_view::npos) return space(2);
      return push(next == '%' || next == '|' ? Kind::kOperator : Kind::kStop, position_ + 2);
    }
    size_t end = position_ + 1;
    while (is_letter(at(end))) ++end;
    const std::string_view name = text_.substr(position_ + 1, end - position_ - 1);
    const std::optional<Command> known = find_command(name);
    if (known && known->kind == CommandKind::kIgnored) {
      return name == "quad" || name == "qquad" ? push(Kind::kStop, end) : space(end - position_);
    }
    if (name == "boxed" || name == "fbox") return with_groups(Kind::kOperand, end, false);
    with_groups(known ? kind_of(*known) : Kind::kStop, end, known && known->kind == CommandKind::kStructure);
  }

  size_t behind_group(size_t position) const {
    const size_t open = skip_spaces(position);
    return at(open) == '{' ? std::max(group_end(open), open + 1) : position;
  }

  // A command with its arguments, of which one may hold the box.
  void with_groups(Kind kind, size_t end, bool changes_value) {
    const size_t begin = position_;
    std::string_view words;
    if (kind == Kind::kOperator) return push(kind, end);
    for (size_t open = skip_spaces(end); at(open) == '{' || at(open) == '['; open = skip_spaces(end)) {
      const size_t close = group_end(open);
      if (close == open) break;
      if (open < box_.begin && box_.begin < close) return group(begin, open, true, changes_value);
      words = text_.substr(open + 1, close - open - 2);
      end = close;
    }
    push(kind, end);
    if (kind == Kind::kStop) tokens_.back().words = words;
  }

  void sign() {
    size_t length = 0;
    const std::optional<std::string_view> latex = find_sign(rest(), length);
    if (!latex) {
      length = 1;
      while ((static_cast<unsigned char>(at(position_ + length)) & 0xC0) == 0x80) ++length;
      return push(Kind::kStop, position_ + length);
    }
    if (*latex == " " || latex->empty()) return space(length);
    const bool joins = *latex == "-" || *latex == "/" || latex->starts_with('^') || latex->starts_with('_');
    if (joins) return push(Kind::kOperator, position_ + length);
    const std::optional<Command> known =
        latex->starts_with('\\') ? find_command(latex->substr(1, latex->find_first_of(" 0123456789{[") - 1))
                                 : std::nullopt;
    const bool is_root = known && known->meaning == "sqrt";
    push(!known ? Kind::kStop : is_root ? Kind::kOperator : kind_of(*known), position_ + length);
  }

  // ^\circ, ^{\text{th}}
  bool is_unit_above() const {
    std::string_view above = rest().substr(1);
    above.remove_prefix(std::min(above.find_first_not_of("{ "), above.size()));
    return is_one_of(above.substr(0, 5), {"\\circ", "\\text", "\\prim", "\\degr", "\\math"}) ||
           is_one_of(above.substr(0, 2), {"th", "st", "nd", "rd"});
  }

  void raised() {
    const size_t next = position_ + 1;
    if (text_[position_] == '^' && is_unit_above()) {
      size_t end = behind_group(next);
      while (end == next && is_letter(at(end + 1))) ++end;
      return with_groups(Kind::kStop, end, false);
    }
    if (at(next) == '{') return with_exponent(next);
    if (text_[position_] == '_' && !is_formula_ && !is_digit(at(next))) return space(1);
    push(Kind::kOperator, next);
  }

  void with_exponent(size_t open) {
    const size_t end = group_end(open);
    if (end > open && open < box_.begin && box_.begin < end) return group(position_, open, true, true);
    push(Kind::kOperator, std::max(end, open + 1));
  }

  // 3:4, but no colon behind words
  bool is_ratio() const {
    if (tokens_.empty() || tokens_.back().end != position_) return false;
    const Kind last = tokens_.back().kind;
    const bool is_behind_value = last == Kind::kBox || (is_formula_ && last == Kind::kOperand);
    return is_behind_value && (is_digit(at(position_ + 1)) || at(position_ + 1) == '\\');
  }

  void punctuation(char c) {
    const char next = at(position_ + 1);
    if (c == '^' || c == '_') return raised();
    if (c == '*' && next == '*') return space(2);
    if ((c == '-' || c == '=') && next == '>') return push(Kind::kStop, position_ + 2);
    if (c == '<' && (is_letter(next) || next == '/') && !is_formula_) {
      return push(Kind::kStop, std::min(text_.find('>', position_), region_.end - 1) + 1);
    }
    if ((c == '<' || c == '>') && next == '=') return push(Kind::kOperator, position_ + 2);
    if (c == ':') return push(is_ratio() ? Kind::kOperator : Kind::kStop, position_ + 1);
    if (c == '!') return push(is_formula_ ? Kind::kOperator : Kind::kStop, position_ + 1);
    if (c == '|') return push(is_formula_ ? Kind::kOperator : Kind::kOperand, position_ + 1);
    const bool joins = std::string_view("+-*/<>%").find(c) != std::string_view::npos;
    push(joins ? Kind::kOperator : Kind::kStop, position_ + 1);
  }

  std::string_view text_;
  Span region_, box_;
  bool is_formula_;
  size_t position_;
  bool has_space_ = false;
  std::vector<BoxToken> tokens_;
};

}  // namespace

std::vector<BoxToken> read_box_tokens(std::string_view text, Span region, Span box, bool is_formula) {
  return Reader(text, region, box, is_formula).read();
}

}  // namespace cohort::answers
