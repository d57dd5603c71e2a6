// The "decoder" of tokenizer.json: the text that tokens stand for, at once or as they come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/text/component.h"

namespace cohort {

/// One step of a decoder: turns the spellings of all tokens into those that the next step takes. Immutable.
class TokenDecoderStep {
 public:
  virtual ~TokenDecoderStep() = default;
  virtual std::vector<std::string> apply(std::vector<std::string> tokens) const = 0;
};

/// How a decoder works on tokens that come one by one.
struct TokenDecoderShape {
  enum class Kind {
    kBytes,   ///< the byte-level alphabet
    kPieces,  ///< spellings one after another, perhaps with bytes between, less some characters at the very
              ///< beginning
    kWhole    ///< not until the last token is known
  };
  Kind kind = Kind::kWhole;
  bool byte_fallback = false;  ///< spellings such as <0x0A> are bytes
  std::string strip;           ///< the character to leave out at the beginning
  int64_t num_strip = 0;       ///< at most so many times
};

class TokenDecoder {
 public:
  /// Throws FormatError naming a type that is not supported. Without a decoder spaces stand between tokens.
  explicit TokenDecoder(const TokenizerJson& config);

  /// Well-formed UTF-8 of any spellings.
  std::string decode(std::vector<std::string> tokens) const;

  const TokenDecoderShape& shape() const { return shape_; }

  /// For the shape kPieces: the spelling as text.
  std::string piece(const std::string& token, bool is_first) const;

 private:
  void add_step(const TokenizerJson& config);
  void find_shape(const std::vector<TokenizerJson>& configs);

  std::vector<std::shared_ptr<const TokenDecoderStep>> steps_;
  size_t num_piece_steps_ = 0;  // the first ones, which make a spelling a piece
  TokenDecoderShape shape_;
};

/// The byte that a spelling such as <0x0A> stands for; -1 where it stands for none.
int fallback_byte(const std::string& token);

/// The text of a run of bytes: one U+FFFD for each where they are not well-formed together.
std::string text_of_fallback_bytes(const std::string& bytes);

}  // namespace cohort
