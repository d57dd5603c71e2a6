// The "decoder" of tokenizer.json: the bytes that a token stands for.
#pragma once

#include <string>

#include "cohort/text/component.h"

namespace cohort {

class Decoder {
 public:
  /// Throws FormatError unless `config` is ByteLevel, alone or in a Sequence.
  explicit Decoder(const TokenizerJson& config);

  /// The token's bytes: its own UTF-8 when it has a character outside the byte-level alphabet.
  std::string token_bytes(const std::string& token) const;
};

}  // namespace cohort
