// Byte-level BPE, the "model" of tokenizer.json: the vocabulary, and the merges that turn a word's bytes into
// tokens.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cohort/text/component.h"

namespace cohort {

class Bpe {
 public:
  /// Throws FormatError for another model type, an option that would change the result, or an inconsistent
  /// file.
  explicit Bpe(const TokenizerJson& config);

  /// Appends the tokens of one word, given as bytes; O(n log n) whatever the word.
  void encode(std::string_view word, std::vector<int32_t>& ids) const;

  /// Tokens by their spelling in the byte-level alphabet.
  const std::unordered_map<std::string, int32_t>& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    int32_t rank;
    int32_t result;
  };

  void read_vocabulary(const TokenizerJson& config);
  void read_merges(const TokenizerJson& config);
  void read_merge(const TokenizerJson& entry, int32_t rank);
  void map_bytes(const TokenizerJson& config);
  int32_t merge_token_id(const std::string& token, int32_t rank) const;
  const Merge* find_merge(int32_t left, int32_t right) const;
  std::vector<int32_t> byte_tokens(std::string_view word) const;

  std::unordered_map<std::string, int32_t> vocabulary_;
  std::unordered_map<uint64_t, Merge> merges_;  // by left id << 32 | right id
  std::array<int32_t, 256> byte_ids_{};         // the unknown token for a byte that the vocabulary lacks
  std::array<bool, 256> byte_is_unknown_{};
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;  // a whole word of the vocabulary is one token whatever the merges say
};

}  // namespace cohort
