// A completion as words, marks and letters of choice, whatever its script and mark-up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohort::choice {

struct Token {
  enum class Kind {
    kWord,
    kUnspaced,  ///< Han, kana, Hangul or Thai, which need no blanks between words
    kNumber,
    kLabel,  ///< one letter of choice
    kRun,    ///< several letters of choice as one word: "AC"
    kMark,
    kEnd,       ///< of a sentence
    kQuestion,  ///< the end of a question
    kLine,      ///< the end of a line
  };

  Kind kind = Kind::kWord;
  std::string text{};       ///< in lower case; of a mark its character, '=' for every operator of a formula
  std::string letters{};    ///< kLabel and kRun: in upper case
  bool is_spaced = false;   ///< white space or mark-up stands before it
  bool is_capital = false;  ///< begins with a capital letter
  unsigned roles = 0;       ///< kWord: see words.h

  bool is(char mark) const { return kind == Kind::kMark && text[0] == mark; }
  bool ends_sentence() const { return kind == Kind::kEnd || kind == Kind::kQuestion || kind == Kind::kLine; }
};

/// Tokens of a text. `letters` are those of the choices. Emphasis, LaTeX's text commands, tags and dollar
/// signs vanish; full-width forms and brackets, quotes and dashes of all scripts become those of ASCII.
std::vector<Token> read_tokens(std::string_view text, std::string_view letters);

}  // namespace cohort::choice
