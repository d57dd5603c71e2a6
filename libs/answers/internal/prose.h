// Prose that holds mathematics, in sentences of pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::answers {

struct Piece {
  enum class Kind : uint8_t {
    kFormula,  ///< mathematics between delimiters
    kBare,     ///< mathematics without them
    kWord,
    kMark,  ///< a sign of one byte, or a dash as '-'
  };
  Kind kind = Kind::kWord;
  std::string_view text;    ///< as it stands there
  std::string_view inside;  ///< a formula without its delimiters; else the text
  bool is_cut = false;      ///< mathematics whose neighbors may belong to its value

  bool is_math() const { return kind == Kind::kFormula || kind == Kind::kBare; }
  bool is_mark(char c) const { return kind == Kind::kMark && inside[0] == c; }
};

struct Sentence {
  std::vector<Piece> pieces;
  std::string_view text;  ///< from the first piece to the last, with the sign that ends it
  bool is_question = false;

  bool has(Piece::Kind kind) const;
};

/// The sentences of `text`, which a full stop, ! or ? ends, or a line break that nothing bridges. Emphasis,
/// quotes and backticks are passed over. At most `max_sentences`; takes linear time.
std::vector<Sentence> read_sentences(std::string_view text, size_t max_sentences = SIZE_MAX);

/// The word at a position in lower case; empty where there is none.
std::string word_at(const std::vector<Piece>& pieces, size_t position);

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);

}  // namespace cohort::answers
