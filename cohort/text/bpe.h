// BPE, the "model" of tokenizer.json: the vocabulary, and the merges that turn a word into tokens. Byte-level
// models take a word's bytes; others its characters, with bytes as a fallback where the file says so.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cohort/text/component.h"
#include "cohort/text/merge_table.h"
#include "cohort/text/word_cache.h"
#include "cohort/text/word_merger.h"

namespace cohort {

using Vocabulary = std::unordered_map<std::string, int32_t>;

class Bpe {
 public:
  /// Memory that words share. One thread at a time.
  struct Work {
    WordCache cache;
    WordMerger merger;
    TokenRun symbols;
  };

  /// `byte_level` says that words come from a byte-level pre-tokenizer. Throws FormatError for another model
  /// type, an option that would change the result, or an inconsistent file.
  Bpe(const TokenizerJson& config, bool byte_level);

  /// Whether words are given as bytes, rather than as characters.
  bool takes_bytes() const { return takes_bytes_; }

  /// Appends the tokens of one word; O(n log n) whatever the word. Throws UserError when the word needs the
  /// unknown token and the vocabulary lacks it.
  void encode(std::string_view word, TokenRun& tokens, Work& work) const;

  /// Tokens by their spelling.
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  void read_options(const TokenizerJson& config);
  void read_vocabulary(const TokenizerJson& config);
  void read_merges(const TokenizerJson& config);
  int32_t merge_token_id(const std::string& token, size_t number) const;
  void index_characters(bool byte_level);
  void note_junction(std::string_view left, std::string_view right);
  bool may_join(char32_t left, char32_t right) const;
  int32_t character_id(char32_t c) const;

  void encode_piece(std::string_view piece, TokenRun& tokens, Work& work) const;
  void compute(std::string_view piece, TokenRun& tokens, Work& work) const;
  void split_bytes(std::string_view word, TokenRun& symbols) const;
  void split_characters(std::string_view word, TokenRun& symbols) const;
  int32_t affixed_id(std::string_view word, size_t begin, size_t end, std::string& spelling) const;
  bool fall_back_to_bytes(std::string_view spelling, TokenRun& symbols) const;
  [[noreturn]] void throw_no_unknown() const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::vector<int32_t> results_;  // of the merges, by rank
  bool unique_results_ = true;

  bool takes_bytes_ = false;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;  // a whole word of the vocabulary is one token whatever the merges say
  bool byte_fallback_ = false;
  std::string prefix_;  // of characters behind the first
  std::string suffix_;  // of the last character
  std::optional<std::string> unknown_;
  int32_t unknown_id_ = -1;

  std::array<int32_t, 256> byte_ids_{};      // -1: not in the vocabulary
  std::array<int32_t, 256> fallback_ids_{};  // <0x00> and so on
  std::array<int32_t, 128> ascii_ids_{};
  std::unordered_map<char32_t, int32_t> character_ids_;  // beyond ASCII
  Vocabulary byte_words_;                                // by bytes, for ignore_merges

  // Which characters may become neighbours inside a token: a hash set that errs towards "may".
  std::vector<uint64_t> junctions_;
};

}  // namespace cohort
