#include "libs/answers/internal/lexer.h"

#include <algorithm>
#include <cctype>

#include "libs/answers/internal/foreign_text.h"
#include "libs/answers/internal/letters.h"
#include "libs/answers/internal/numeral.h"
#include "libs/answers/internal/plain_words.h"
#include "libs/answers/internal/scan.h"
#include "libs/answers/internal/spelling.h"
#include "libs/answers/internal/symbols.h"
#include "libs/answers/internal/units.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

using FailureKind = ParseFailure::Kind;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '~'; }

class Lexer {
 public:
  Lexer(std::string_view text, int font_depth, bool is_text, std::vector<Token>& tokens)
      : text_(text),
        font_depth_(font_depth),
        is_text_(is_text),
        tokens_(tokens),
        has_lone_dollar_(count_dollars(text) % 2 == 1) {}

  void run() {
    while (position_ < text_.size()) step();
  }

 private:
  static constexpr int kMaxFontDepth = 8;

  char at(size_t offset) const {
    return position_ + offset < text_.size() ? text_[position_ + offset] : '\0';
  }
  std::string_view rest() const { return text_.substr(position_); }
  Surroundings surroundings() const { return {tokens_, rest(), has_space_, is_text_}; }

  void push(TokenKind kind, std::string_view text, bool is_latex = false) {
    if (tokens_.size() >= kMaxTokens) {
      throw ParseFailure{FailureKind::kTooLarge, str("more than ", kMaxTokens, " tokens")};
    }
    if (kind == TokenKind::kPunctuation) {
      num_brackets_ += text == "(" || text == "[" || text == "\\{";
      num_brackets_ -= text == ")" || text == "]" || text == "\\}";
    }
    tokens_.push_back({kind, std::string(text), has_space_, is_latex});
    has_space_ = false;
  }

  void step() {
    const char c = at(0);
    if (is_space(c)) {
      has_space_ = true;
      ++position_;
    } else if (is_digit(c) || (c == '.' && is_digit(at(1)))) {
      number();
    } else if (is_letter(c)) {
      word();
    } else if (c == '\\') {
      command();
    } else if (c == '$') {
      dollar();
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      sign();
    } else {
      punctuation();
    }
  }

  void dollar() {
    ++position_;
    if (has_lone_dollar_ && tokens_.empty()) push(TokenKind::kStructure, "$");
  }

  void sign() {
    size_t length = 0;
    const std::optional<std::string_view> latex = find_sign(rest(), length);
    if (!latex) return foreign_word();
    position_ += length;
    if (*latex == "\\mu " && take_micro_unit(true)) return;
    if (*latex == " ") {
      has_space_ = true;
    } else {
      lex_inside(*latex);
    }
  }

  // A word in another script: of what is counted, as in 12 руб. and 12个.
  void foreign_word() {
    const size_t length = foreign_word_length(rest());
    if (length == 0)
      throw ParseFailure{FailureKind::kMalformed, str("unknown character in ", excerpt(rest()))};
    push_foreign(rest().substr(0, length));
    position_ += length;
  }

  void push_foreign(std::string_view word) {
    for (const std::string_view part : split_scales(word)) push(TokenKind::kText, part);
  }

  // Reads other text in place of what was just consumed.
  void lex_inside(std::string_view text, bool is_text = false) {
    if (font_depth_ >= kMaxFontDepth) throw ParseFailure{FailureKind::kTooLarge, "fonts nested too deeply"};
    Lexer inner(text, font_depth_ + 1, is_text, tokens_);
    inner.has_space_ = has_space_;
    inner.run();
    has_space_ = inner.has_space_;
  }

  size_t num_digits(size_t offset) const {
    size_t count = 0;
    while (is_digit(at(offset + count))) ++count;
    return count;
  }

  size_t separator_length(size_t offset) const {
    return thousands_separator_length(text_.substr(std::min(text_.size(), position_ + offset)),
                                      num_brackets_ > 0);
  }

  // 10,100 of 1,10,100 is two numbers, but 10,000 of 1,10,000 is one.
  void number() {
    size_t length = num_digits(0);
    std::string digits(rest().substr(0, length));
    const bool is_listed = position_ > 1 && text_[position_ - 1] == ',' && is_digit(text_[position_ - 2]);
    if (length >= 1 && length <= 3 && (!is_listed || at(length + 1) == '0')) {
      for (size_t gap = separator_length(length); gap > 0 && num_digits(length + gap) == 3;
           gap = separator_length(length)) {
        digits += rest().substr(length + gap, 3);
        length += gap + 3;
      }
    }
    position_ += length;
    if (digits == "0" && (at(0) == 'x' || at(0) == 'X') && std::isxdigit(static_cast<unsigned char>(at(1))))
      throw ParseFailure{FailureKind::kMalformed, "a hexadecimal number"};
    // A point without digits behind it is a full stop, unless they repeat.
    const size_t num_decimals = at(0) == '.' ? num_digits(1) : 0;
    const bool has_repeating = at(0) == '.' && (at(1) == '(' || rest().starts_with(".\\overline") ||
                                                rest().starts_with(".\\bar") || rest().starts_with(".\\dot"));
    if (num_decimals > 0 || has_repeating) {
      digits += rest().substr(0, num_decimals + 1);
      position_ += num_decimals + 1;
    }
    append_exponent(digits);
    push(TokenKind::kNumber, digits);
  }

  void append_exponent(std::string& digits) {
    const size_t length = exponent_length(rest(), digits);
    if (length == 0) return;
    digits += "e";
    digits += rest().substr(1, length - 1);
    position_ += length;
  }

  void push_meaning(const Command& command, bool is_latex) {
    switch (command.kind) {
      case CommandKind::kSymbol:
        return push(TokenKind::kSymbol, command.meaning, is_latex);
      case CommandKind::kPunctuation:
        return push(TokenKind::kPunctuation, command.meaning, is_latex);
      case CommandKind::kFunction:
        return push(TokenKind::kFunction, command.meaning, is_latex);
      default:
        return push(TokenKind::kStructure, command.meaning, is_latex);
    }
  }

  // A function's name glued to its argument: sinx.
  bool push_glued_function(std::string_view run) {
    for (size_t length = run.size() > 2 ? run.size() - 2 : 1; length < run.size(); ++length) {
      const std::optional<Command> word = find_word(run.substr(0, length));
      if (!word || word->kind != CommandKind::kFunction) continue;
      push_meaning(*word, false);
      for (char letter : run.substr(length)) push(TokenKind::kSymbol, std::string_view(&letter, 1));
      return true;
    }
    return false;
  }

  void word() {
    size_t length = 1;
    while (is_letter(at(length))) ++length;
    if (const size_t end = word_length(rest(), length); end > length) {  // Stück
      position_ += end;
      return push(TokenKind::kText, text_.substr(position_ - end, end));
    }
    const std::string_view run = rest().substr(0, length);
    position_ += length;
    const Surroundings place = surroundings();
    if (run == "in" && !may_be_unit(place)) return push(TokenKind::kPunctuation, "in");
    if (const std::optional<MeasuringWord> word = find_measuring_word(run, place)) {
      position_ += word->num_bytes;
      if (!word->text.empty()) push(word->kind, word->text);
      return;
    }
    if (find_number_word(run) && may_be_unit(place)) return push(TokenKind::kText, run);
    const std::optional<Command> known = find_word(run);
    if (known) return push_meaning(*known, false);
    if (is_capital_name(run)) return push(TokenKind::kSymbol, run);
    if (push_glued_function(run)) return;
    if (is_wordy(run)) return push(TokenKind::kText, run);
    for (char letter : run) push(TokenKind::kSymbol, std::string_view(&letter, 1));
  }

  void command() {
    size_t length = 1;
    while (is_letter(at(length))) ++length;
    if (length == 1 && position_ + 1 < text_.size()) length = 2;
    const std::string_view name = rest().substr(1, length - 1);
    position_ += length;
    if (name == "{" || name == "}") return push(TokenKind::kPunctuation, name == "{" ? "\\{" : "\\}");
    if (name == "%" || name == "|") return push(TokenKind::kPunctuation, name);
    if (name == "not" && trim(rest()).starts_with('=')) {
      position_ = text_.find('=', position_) + 1;
      return push(TokenKind::kPunctuation, "!=");
    }
    if (name == "mu" && take_micro_unit(ends_in_latex_space(text_.substr(0, position_ - length)))) return;
    if (name == "mathbf" && is_bold_set(surroundings())) return push(TokenKind::kStructure, "mathbb", true);
    if (name.empty() || is_space(name[0]) || name == "(" || name == ")" || name == "[" || name == "]") {
      has_space_ = true;  // also the delimiters of inline and displayed formulas
      return;
    }
    const std::optional<Command> known = find_command(name);
    if (!known) throw ParseFailure{FailureKind::kMalformed, str("unknown command ", excerpt(name))};
    act_on(*known);
  }

  // What is behind a number and \mu, if it makes a unit.
  bool take_micro_unit(bool takes_letter) {
    const std::optional<MeasuringWord> unit = find_micro_unit(surroundings(), takes_letter);
    if (!unit) return false;
    position_ += unit->num_bytes;
    push(unit->kind, unit->text);
    return true;
  }

  void act_on(const Command& command) {
    switch (command.kind) {
      case CommandKind::kIgnored:
        if ((command.meaning == "left" || command.meaning == "right") && at(0) == '.') ++position_;
        has_space_ = has_space_ || command.meaning != "!";
        return;
      case CommandKind::kUnsupported:
        throw ParseFailure{FailureKind::kUnsupported, str("\\", command.meaning, " is beyond this verifier")};
      case CommandKind::kText:
        return font(true);
      case CommandKind::kFont:
        return font(false);
      default:
        if (command.meaning == "begin" || command.meaning == "end") return environment(command.meaning);
        return push_meaning(command, true);
    }
  }

  // The text of a group in braces here, nothing where there is none.
  std::optional<std::string_view> take_group() {
    while (is_space(at(0))) ++position_;
    if (at(0) != '{') return std::nullopt;
    const std::optional<size_t> close = closing_brace(rest());
    if (!close) throw ParseFailure{FailureKind::kMalformed, "a brace is not closed"};
    const std::string_view group = rest().substr(1, *close - 1);
    position_ += *close + 1;
    return group;
  }

  void environment(std::string_view command) {
    const std::optional<std::string_view> name = take_group();
    if (!name) throw ParseFailure{FailureKind::kMalformed, str("\\", command, " without a name")};
    push(TokenKind::kStructure, str(command, " ", *name), true);
  }

  void font(bool is_text) {
    const std::optional<std::string_view> group = take_group();
    if (!group) return;
    const std::string_view content = trim(*group);
    if (content.empty()) {
      has_space_ = true;
    } else if (is_text && is_words(content)) {
      words(content);
    } else {
      // A power behind \text{m/s} is that of the last unit alone.
      const bool is_unit = is_text && content.find('/') != std::string_view::npos &&
                           std::all_of(content.begin(), content.end(),
                                       [](char c) { return is_letter(c) || is_space(c) || c == '/'; });
      if (!is_unit) push(TokenKind::kPunctuation, "{", true);
      lex_inside(content, is_text);
      if (!is_unit) push(TokenKind::kPunctuation, "}", true);
    }
  }

  void words(std::string_view content) {
    if (static_cast<unsigned char>(content[0]) >= 0x80) return push_foreign(split_text(content)[0]);
    if (content == "e" || content == "i") return push(TokenKind::kSymbol, content);
    const bool is_second = content == "sec" && !tokens_.empty() && tokens_.back().kind == TokenKind::kNumber;
    const std::optional<Command> known = find_word(content);
    if (known && !is_second) return push_meaning(*known, true);
    if (are_variables(content, surroundings())) {
      for (char letter : content) push(TokenKind::kSymbol, std::string_view(&letter, 1));
      return;
    }
    const std::vector<std::string> texts = split_text(content);
    if (const auto currency = find_currency(texts[0], surroundings()); currency && texts.size() == 1)
      return push(currency->kind, currency->text);
    if (texts.size() == 1) return push(TokenKind::kText, texts[0], true);
    push(TokenKind::kText, texts[0], true);
    push(TokenKind::kPunctuation, texts[1], true);
    push(TokenKind::kText, texts[2], true);
  }

  void punctuation() {
    for (std::string_view pair : {"<=", ">=", "!=", "==", "**"}) {
      if (rest().substr(0, 2) != pair) continue;
      position_ += 2;
      return push(TokenKind::kPunctuation, pair == "**" ? "^" : pair == "==" ? "=" : pair);
    }
    push(TokenKind::kPunctuation, rest().substr(0, 1));
    ++position_;
  }

  std::string_view text_;
  int font_depth_;
  bool is_text_;  // inside \text{}, where a letter may be a unit
  std::vector<Token>& tokens_;
  bool has_lone_dollar_;
  size_t position_ = 0;
  int num_brackets_ = 0;
  bool has_space_ = false;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  const std::string spelled = respell(text);
  Lexer(spelled, 0, false, tokens).run();
  tokens.push_back({});
  return tokens;
}

}  // namespace cohort::answers
