// The tokens of a vocabulary as a grammar reads them.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cohort/text/grammar/grammar.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// The bytes that each token adds to a text. Special tokens and tokens without a byte are not among them.
class TokenSymbols {
 public:
  /// Of the first token of a completion, if `is_first`: some decoders leave out the space in front of it.
  /// Throws UserError for a decoder that makes no text until the last token is known.
  TokenSymbols(const Tokenizer& tokenizer, bool is_first);

  /// The bytes of a token; empty for one that is not here.
  const std::string& text(int32_t id) const { return texts_[id]; }

  /// The bytes that are a token each.
  const std::bitset<256>& bytes() const { return bytes_; }

  int64_t vocab_size() const { return static_cast<int64_t>(texts_.size()); }

  /// Calls `f` for the tokens that a reader accepts. `begin` is the reader's position before a token,
  /// `next(position, byte)` that after a byte or -1. Tokens with a common beginning read it once.
  void for_each_accepted(int32_t begin, const std::function<int32_t(int32_t position, Symbol byte)>& next,
                         const std::function<void(int32_t id)>& f) const;

 private:
  std::vector<std::string> texts_;  // by id
  std::vector<int32_t> order_;      // of texts that are not empty
  std::vector<size_t> shared_;      // by place in order_: bytes in common with the text before
  std::bitset<256> bytes_;
};

}  // namespace cohort
