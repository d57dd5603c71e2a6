#include "cohort/rewards/choice/tokens.h"

#include <algorithm>
#include <array>

#include "cohort/rewards/choice/plain_text.h"
#include "cohort/rewards/choice/unspaced.h"
#include "cohort/rewards/choice/words.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort::choice {
namespace {

using Kind = Token::Kind;

bool is_unspaced(char32_t c) {
  static const std::array<CodePointSet, 4> scripts{*script("Han"), *script("Hiragana"), *script("Katakana"),
                                                   *script("Hangul")};
  const bool is_thai = c >= 0x0E00 && c <= 0x0E7F, is_long_vowel = c == 0x30FC;
  return is_thai || is_long_vowel ||
         (c >= 0x1100 &&
          std::any_of(scripts.begin(), scripts.end(), [c](const auto& set) { return set.contains(c); }));
}

bool is_digit_point(char32_t c) { return c >= U'0' && c <= U'9'; }

bool is_word_point(char32_t c) {
  static const CodePointSet letters = *general_category("L"), marks = *general_category("M"),
                            numbers = *general_category("N");
  if (c < 0x80) return is_digit_point(c) || (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || c == U'_';
  return !is_unspaced(c) && (letters.contains(c) || marks.contains(c) || numbers.contains(c));
}

class Lexer {
 public:
  Lexer(std::u32string text, std::string_view letters) : text_(std::move(text)), letters_(letters) {}

  std::vector<Token> read() {
    while (at_ < text_.size()) take();
    return std::move(tokens_);
  }

 private:
  char32_t peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : U'\0'; }

  void add(Kind kind, std::string text) {
    Token token;
    token.kind = kind;
    token.text = std::move(text);
    token.is_spaced = is_spaced_;
    is_spaced_ = false;
    tokens_.push_back(std::move(token));
  }

  void take() {
    const char32_t c = peek(0);
    if (c == U' ' || c == U'\v' || c == U'\f') {
      is_spaced_ = true;
      ++at_;
    } else if (is_word_point(c)) {
      take_word();
    } else if (is_unspaced(c)) {
      std::string text;
      while (is_unspaced(peek(0))) append_utf8(text, text_[at_++]);
      add(Kind::kUnspaced, text);
      tokens_.back().roles = unspaced_roles(text);
    } else {
      take_mark(c);
      ++at_;
    }
  }

  // A point, a hyphen or an apostrophe between two letters or digits is part of the word.
  bool joins_word(size_t ahead) const {
    const char32_t c = peek(ahead);
    if (c == U'.' || c == U',') {
      const bool is_decimal = is_digit_point(peek(ahead - 1)) && is_digit_point(peek(ahead + 1));
      return is_decimal || (c == U'.' && ahead == 1 && is_word_point(peek(2)) && !is_digit_point(peek(0)) &&
                            !is_word_point(peek(3)));
    }
    return (c == U'-' || c == U'\'') && is_word_point(peek(ahead + 1));
  }

  void take_word() {
    size_t length = 0;
    while (is_word_point(peek(length)) || (length > 0 && joins_word(length))) ++length;
    std::string source, lower;
    for (size_t i = 0; i < length; ++i) {
      append_utf8(source, peek(i));
      append_utf8(lower, to_lowercase(peek(i)));
    }
    const bool is_capital = to_lowercase(peek(0)) != peek(0);
    at_ += length;
    const bool is_number = is_digit_point(static_cast<unsigned char>(source[0])) &&
                           source.find_first_not_of("0123456789.,") == std::string::npos;
    add(is_number ? Kind::kNumber : Kind::kWord, lower);
    Token& token = tokens_.back();
    token.is_capital = is_capital;
    token.roles = roles_of(without_article(lower));
    if (lower.ends_with("n't")) token.roles |= kNegation;
    classify(token, without_copula(source));
    const bool is_shortened =
        (lower == "i.e" || lower == "e.g" || lower == "ans" || lower == "vs") && peek(0) == U'.';
    at_ += is_shortened ? 1 : 0;
  }

  // l'option, dell'opzione
  static std::string_view without_article(std::string_view word) {
    const size_t mark = word.find('\'');
    const bool is_article = mark != std::string_view::npos && mark + 1 < word.size() &&
                            (word[mark - 1] == 'l' || (mark == 1 && word[0] == 'd'));
    return is_article ? word.substr(mark + 1) : word;
  }

  // Turkish "B'dir": it is B.
  static std::string_view without_copula(std::string_view source) {
    const size_t mark = source.find('\'');
    if (mark != 1) return source;
    const std::string_view ending = source.substr(2);
    const bool is_copula =
        ending.size() <= 4 && (ending.starts_with("d") || ending.starts_with("t")) && ending.ends_with("r");
    return is_copula ? source.substr(0, 1) : source;
  }

  void classify(Token& token, std::string_view source) const {
    constexpr size_t kMaxRun = 10;
    if (source.size() > kMaxRun) return;
    const auto is_letter = [&](char c) { return letters_.find(c) != std::string_view::npos; };
    if (source.size() == 1) {
      const char upper = source[0] >= 'a' && source[0] <= 'z' ? static_cast<char>(source[0] - 32) : source[0];
      if (!is_letter(upper)) return;
      token.kind = Kind::kLabel;
      token.letters = std::string(1, upper);
    } else if (std::all_of(source.begin(), source.end(), is_letter) &&
               std::adjacent_find(source.begin(), source.end(), std::greater_equal<>()) == source.end()) {
      token.kind = Kind::kRun;
      token.letters = std::string(source);
    }
  }

  void take_mark(char32_t c) {
    if (c == U'\n') return add(Kind::kLine, "\n");
    if (c == U'?') return add(Kind::kQuestion, "?");
    if (c == U'!' || c == 0x3002 || c == 0x2026) return add(Kind::kEnd, ".");
    if (c == U'.') return add(Kind::kEnd, ".");
    if (c == 0x2234) return add_word("therefore");
    if (c == 0x2713 || c == 0x2714 || c == 0x2705 || c == 0x2611) return add_word("\u2713");
    if (c == 0x2717 || c == 0x2718 || c == 0x274C || c == 0x2716) return add_word("\u2717");
    if (c == U'&') return add_word("&");
    if (c == U'[') return add(Kind::kMark, "(");
    if (c == U']') return add(Kind::kMark, ")");
    if (c == kArrow) return add(Kind::kMark, ">");
    if (c < 0x80) return add(Kind::kMark, std::string(1, static_cast<char>(c)));
    if (c == kOperator) return add(Kind::kMark, "=");
    is_spaced_ = true;
  }

  void add_word(const char* word) {
    add(Kind::kWord, word);
    tokens_.back().roles = roles_of(word);
  }

  std::u32string text_;
  std::string_view letters_;
  size_t at_ = 0;
  bool is_spaced_ = true;
  std::vector<Token> tokens_;
};

// A label that is none: a unit (5 A), a part of a formula (A = 2, P(B)), an article (A dog), a pronoun.
bool is_plain_word(const std::vector<Token>& tokens, size_t i) {
  const Token* before = i > 0 ? &tokens[i - 1] : nullptr;
  const Token* after = i + 1 < tokens.size() ? &tokens[i + 1] : nullptr;
  const Token& label = tokens[i];
  const bool is_assigned =
      before && before->is('=') && (i < 2 || (tokens[i - 2].roles & (kNoun | kIntro)) == 0);
  if (is_assigned || (before && before->kind == Kind::kNumber)) return true;
  if (after && after->is('=')) return true;
  const bool is_answer = before && (before->is(':') || before->is(')') || before->kind == Kind::kUnspaced);
  if (after && after->is('(') && !after->is_spaced && !is_answer) return true;
  const bool is_argument = before && before->is('(') && !before->is_spaced && i > 1 &&
                           (tokens[i - 2].kind == Kind::kLabel ||
                            (tokens[i - 2].kind == Kind::kWord && tokens[i - 2].text.size() == 1));
  if (is_argument) return true;
  const bool is_last = !after || after->ends_sentence();
  const bool is_marked = after && (after->is(')') || after->is('"') || after->is('\'') || after->is(':') ||
                                   after->kind == Kind::kUnspaced);
  if (!label.is_capital && !is_last && !is_marked) return true;
  if (!after || after->kind != Kind::kWord) return false;
  constexpr unsigned kBehindLetters =
      kCopula | kVerb | kReason | kJoin | kNegation | kTurn | kCondition | kAlso | kApprove | kRefute;
  if (label.letters == "I") return (after->roles & (kReason | kCondition)) == 0 && after->text != "is";
  const bool is_article = label.letters == "A" || label.letters == "E" || label.letters == "O";
  return is_article && !after->is_capital && (after->roles & (kBehindLetters | kIntro | kOnly)) == 0;
}

}  // namespace

std::vector<Token> read_tokens(std::string_view text, std::string_view letters) {
  std::vector<Token> tokens = Lexer(plain_text(text), letters).read();
  std::vector<size_t> plain;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == Kind::kLabel && is_plain_word(tokens, i)) plain.push_back(i);
  }
  for (const size_t i : plain) tokens[i].kind = Kind::kWord;
  for (Token& token : tokens) {
    if (token.kind == Kind::kLabel || token.kind == Kind::kRun) token.roles = 0;
  }
  return tokens;
}

}  // namespace cohort::choice
