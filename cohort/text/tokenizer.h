// The tokenizer of a Hugging Face model directory: byte-level BPE with added tokens (the shape of GPT-2, Qwen
// and Llama-3), with the ids and the text of Hugging Face's tokenizers 0.23. The order of an encoding:
//   added tokens (not normalized) -> normalizer -> added tokens (normalized) -> pre-tokenizer -> BPE ->
//   post-processor
// What a file asks for and this reader lacks is a FormatError that names it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cohort/text/added_tokens.h"
#include "cohort/text/bpe.h"
#include "cohort/text/normalizer.h"
#include "cohort/text/post_processor.h"
#include "cohort/text/pre_tokenizer.h"

namespace cohort {

struct EncodeOptions {
  /// Put the post-processor's tokens around the text (Llama-3's beginning-of-text, for example), as HF does
  /// unless told otherwise. Special tokens spelled out in the text become tokens in either case.
  bool add_special_tokens = true;
};

struct DecodeOptions {
  bool skip_special_tokens = true;  ///< leave out the added tokens that are marked special
};

/// Immutable; any number of threads may use one object.
class Tokenizer {
 public:
  /// Reads `model_dir`/tokenizer.json, and tokenizer_config.json where there is one (its eos_token; what it
  /// says of added tokens must agree). "truncation" and "padding" have no effect. Throws FormatError naming
  /// file and key.
  static Tokenizer from_directory(const std::filesystem::path& model_dir);

  /// Throws UserError naming the byte where `text` is not well-formed UTF-8.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;

  /// Text of any ids: ill-formed UTF-8 becomes U+FFFD, and an id without a token (a model's padded vocabulary
  /// has such) nothing.
  std::string decode(std::span<const int32_t> ids, DecodeOptions options = {}) const;

  /// One more than the highest id; ids below it may have no token.
  int64_t vocab_size() const { return static_cast<int64_t>(tokens_.size()); }

  /// The id of a token as tokenizer.json spells it.
  std::optional<int32_t> token_id(const std::string& token) const;

  /// The spelling of a token in tokenizer.json; nothing for an id without one.
  std::optional<std::string> token(int32_t id) const;

  /// The bytes that a token adds to a text: none for an id without a token.
  const std::string& token_bytes(int32_t id) const;

  /// Whether the id is an added token marked special.
  bool is_special(int32_t id) const;

  /// The eos_token of tokenizer_config.json.
  std::optional<int32_t> eos_token_id() const { return eos_token_id_; }

 private:
  struct Token {
    std::optional<std::string> spelling;
    std::string bytes;
    bool special = false;
  };

  explicit Tokenizer(const TokenizerJson& config);
  void fill_tokens(const TokenizerJson& config);
  void read_tokenizer_config(const TokenizerJson& config);
  void encode_text(std::string_view text, std::vector<int32_t>& ids) const;
  const Token* find(int32_t id) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe model_;
  PostProcessor post_processor_;
  std::vector<AddedToken> added_tokens_;
  AddedTokenMatcher raw_matcher_;
  AddedTokenMatcher normalized_matcher_;
  std::vector<Token> tokens_;  // by id
  std::unordered_map<std::string, int32_t> added_ids_;
  std::optional<int32_t> eos_token_id_;
};

}  // namespace cohort
