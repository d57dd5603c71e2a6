#include "libs/answers/internal/prose.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "libs/answers/internal/bare_expression.h"
#include "libs/answers/internal/foreign_text.h"
#include "libs/answers/internal/formulas.h"
#include "libs/answers/internal/plain_text.h"
#include "libs/answers/internal/stands_alone.h"
#include "libs/answers/internal/symbols.h"
#include "libs/answers/internal/word_roles.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Reader {
 public:
  Reader(std::string_view text, size_t max_sentences)
      : text_(text), formulas_(text), max_sentences_(max_sentences) {}

  std::vector<Sentence> read() {
    while (position_ < text_.size() && sentences_.size() < max_sentences_) step();
    if (sentences_.size() < max_sentences_) end_sentence(position_);
    return std::move(sentences_);
  }

 private:
  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  void push(Piece::Kind kind, size_t length) {
    const std::string_view text = text_.substr(position_, length);
    push({kind, text, text}, length);
  }

  void push(const Piece& piece, size_t length) {
    if (sentence_.pieces.empty()) begin_ = position_;
    sentence_.pieces.push_back(piece);
    position_ += length;
  }

  void end_sentence(size_t end) {
    if (!sentence_.pieces.empty()) {
      sentence_.text = text_.substr(begin_, end - begin_);
      sentences_.push_back(std::exchange(sentence_, {}));
    }
  }

  void step() {
    const char c = text_[position_];
    if (c == '\n') return line_break();
    if (is_space(c)) {
      ++position_;
    } else if (const size_t tag = tag_length()) {
      position_ += tag;
    } else if (const size_t argument = argument_length()) {
      push(Piece::Kind::kWord, argument);
    } else if (const auto formula = formulas_.at(position_)) {
      const bool is_cut = !stands_alone(text_, position_, position_ + formula->length);
      push({Piece::Kind::kFormula, text_.substr(position_, formula->length), formula->inside, is_cut},
           formula->length);
    } else if (const BareExpression bare = bare_expression(); bare.end > position_) {
      const std::string_view text = text_.substr(position_, bare.end - position_);
      push({Piece::Kind::kBare, text, text, bare.is_cut}, text.size());
    } else if (const size_t length = word_length()) {
      push(Piece::Kind::kWord, length);
    } else {
      sign();
    }
  }

  // The length of <answer> or </b> here.
  size_t tag_length() const {
    constexpr size_t kMaxBytes = 20;
    if (at(position_) != '<') return 0;
    const size_t name = position_ + 1 + (at(position_ + 1) == '/');
    size_t end = name;
    while (end - name < kMaxBytes && std::isalpha(static_cast<unsigned char>(at(end)))) ++end;
    return end > name && at(end) == '>' ? end + 1 - position_ : 0;
  }

  // The length of the argument of a function or a command that nobody knows: gcd(12, 18), \foo{3}.
  size_t argument_length() const {
    constexpr size_t kMaxBytes = 200;
    const char open = at(position_);
    if ((open != '(' && open != '{') || position_ == 0 || !is_letter(text_[position_ - 1])) return 0;
    const size_t close = text_.substr(position_, kMaxBytes).find(open == '(' ? ')' : '}');
    return close == std::string_view::npos ? 0 : close + 1;
  }

  BareExpression bare_expression() const {
    const bool is_sign = text_[position_] == '-' || text_[position_] == '+';
    const bool is_hyphen =
        is_sign && position_ > 0 && std::isalnum(static_cast<unsigned char>(text_[position_ - 1]));
    return is_hyphen ? BareExpression{position_} : read_bare_expression(text_, position_, formulas_);
  }

  // The length of a letter or digit here that words are made of; 0 for other characters.
  size_t letter_length(size_t position) const {
    const auto byte = static_cast<unsigned char>(at(position));
    if (byte < 0x80) return std::isalnum(byte) != 0;
    return foreign_letter_length(text_, position);
  }

  // The length of a word here, with apostrophes and hyphens inside: isn't, well-known, i.e.
  size_t word_length() const {
    const std::string_view rest = text_.substr(position_);
    for (const std::string_view shortened : {"i.e.", "e.g.", "a.m.", "p.m.", "A.M.", "P.M."}) {
      if (rest.starts_with(shortened)) return shortened.size();
    }
    size_t next = position_;
    if (static_cast<unsigned char>(rest[0]) >= 0x80 && neighbor_at(text_, next) == Neighbor::kCjk)
      return std::max(cjk_word_length(rest), next - position_);
    size_t end = position_;
    while (true) {
      const size_t joint = end > position_ && (at(end) == '\'' || at(end) == '-')       ? 1
                           : end > position_ && text_.substr(end).starts_with("\u2019") ? 3
                                                                                        : 0;
      const size_t letter = end + joint < text_.size() ? letter_length(end + joint) : 0;
      if (letter == 0) return end - position_;
      end += joint + letter;
    }
  }

  void sign() {
    const std::string_view rest = text_.substr(position_);
    for (const std::string_view dash : {"–", "—"}) {
      if (rest.starts_with(dash)) return push({Piece::Kind::kMark, rest.substr(0, 3), "-"}, dash.size());
    }
    if (rest.starts_with("\\$")) return push(Piece::Kind::kMark, 2);
    const char c = rest[0];
    const bool is_stop = c == '.' || c == '?' || c == '!';
    if (is_stop && ends_here()) {
      sentence_.is_question = c == '?';
      end_sentence(position_ + 1);
    }
    const bool is_passed_over = is_stop || std::string_view("*_`\"'~#").find(c) != std::string_view::npos ||
                                static_cast<unsigned char>(c) >= 0x80;
    is_passed_over ? void(position_ += character_length(text_, position_)) : push(Piece::Kind::kMark, 1);
  }

  // Is the stop here the end of a sentence, and not of "sq." or the point of a number?
  bool ends_here() const {
    const char next = at(position_ + 1);
    const bool is_end =
        next == '\0' || is_space(next) || std::string_view("*\"'$`)_").find(next) != std::string_view::npos;
    if (!is_end || sentence_.pieces.empty()) return false;
    const Piece& last = sentence_.pieces.back();
    return last.kind != Piece::Kind::kWord || text_[position_] != '.' || !is_abbreviation(last.text);
  }

  // Lines that a comma, "and" or "is" leaves open go on in the next one.
  void line_break() {
    if (!sentence_.pieces.empty()) {
      const Piece& last = sentence_.pieces.back();
      const WordRole role = last.kind == Piece::Kind::kWord ? word_role(last.text) : WordRole::kOther;
      const bool is_open = last.is_mark(',') || last.is_mark(':') || last.is_mark('=') ||
                           role == WordRole::kJoiner || role == WordRole::kCopula;
      if (!is_open) end_sentence(position_);
    }
    ++position_;
  }

  std::string_view text_;
  FormulaFinder formulas_;
  size_t max_sentences_, position_ = 0, begin_ = 0;
  Sentence sentence_;
  std::vector<Sentence> sentences_;
};

}  // namespace

bool Sentence::has(Piece::Kind kind) const {
  return std::any_of(pieces.begin(), pieces.end(), [kind](const Piece& piece) { return piece.kind == kind; });
}

std::vector<Sentence> read_sentences(std::string_view text, size_t max_sentences) {
  return Reader(text, max_sentences).read();
}

std::string word_at(const std::vector<Piece>& pieces, size_t position) {
  const bool is_word = position < pieces.size() && pieces[position].kind == Piece::Kind::kWord;
  return is_word ? lower_case(pieces[position].text) : std::string();
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace cohort::answers
