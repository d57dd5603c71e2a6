// The tokenizer of a Hugging Face model directory: BPE with bytes (GPT-2, Qwen, Llama-3) or characters
// (Llama-2, Mistral, Gemma) and added tokens, with the ids, offsets and text of Hugging Face's tokenizers
// 0.23. The order of an encoding:
//   added tokens (not normalized) -> normalizer -> added tokens (normalized) -> pre-tokenizer -> BPE ->
//   post-processor
// What a file asks for and this reader lacks is a FormatError that names it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cohort/text/added_tokens.h"
#include "cohort/text/bpe.h"
#include "cohort/text/code_point_span.h"
#include "cohort/text/decoder.h"
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

/// Ids and, for each, where in the text it comes from: (0, 0) for the tokens around the text.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<CodePointSpan> offsets;
};

/// Immutable; any number of threads may use one object.
class Tokenizer {
 public:
  /// Reads `model_dir`/tokenizer.json with what tokenizer_config.json changes in it (see tokenizer_config.h).
  /// "truncation" and "padding" have no effect. Throws FormatError naming file and key.
  static Tokenizer from_directory(const std::filesystem::path& model_dir);

  /// Reads the text of a tokenizer.json and of a tokenizer_config.json, empty where there is none. Throws as
  /// above, less the names of the files.
  static Tokenizer from_json(std::string_view tokenizer, std::string_view tokenizer_config = "");

  Tokenizer(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Throws UserError naming the byte where `text` is not well-formed UTF-8, and naming tokenizer.json where
  /// its regular expression gives up on the text.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;

  /// The same ids with offsets, which are those of HF through all steps: bytes of one character share its
  /// offsets.
  Encoding encode_with_offsets(std::string_view text, EncodeOptions options = {}) const;

  /// Text of any ids: ill-formed UTF-8 becomes U+FFFD, and an id without a token (a model's padded vocabulary
  /// has such) nothing.
  std::string decode(std::span<const int32_t> ids, DecodeOptions options = {}) const;

  /// One more than the highest id; ids below it may have no token.
  int64_t vocab_size() const { return static_cast<int64_t>(places_.size()); }

  /// The id of a token as tokenizer.json spells it.
  std::optional<int32_t> token_id(const std::string& token) const;

  /// The spelling of a token in tokenizer.json; nothing for an id without one.
  std::optional<std::string> token(int32_t id) const;

  /// What the decoder is given for an id; null where it is given nothing.
  const std::string* decoded_token(int32_t id, DecodeOptions options) const;

  const TokenDecoder& decoder() const { return decoder_; }

  /// The text with U+FFFD for the first character of every special token that it spells, so that a text from
  /// elsewhere can't end a turn.
  std::string without_special_tokens(std::string text) const;

  /// Whether the id is an added token marked special.
  bool is_special(int32_t id) const;

  /// The eos_token of tokenizer_config.json.
  std::optional<int32_t> eos_token_id() const { return eos_token_id_; }

 private:
  class WorkPool;
  class Encoder;

  struct Token {
    std::string spelling;
    std::string decoded;  ///< the spelling, or what was looked for in the text
    bool special = false;
    int32_t leading_spaces = 0;  ///< of the spelling, for offsets that leave them out
    int32_t trailing_spaces = 0;
  };

  explicit Tokenizer(const TokenizerJson& config);
  void fill_tokens();
  void add_token(int32_t id, Token token);
  void find_eos(const TokenizerJson& config);
  const Token* find(int32_t id) const;
  void run(Encoder& encoder, EncodeOptions options) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe model_;
  PostProcessor post_processor_;
  TokenDecoder decoder_;
  std::vector<AddedToken> added_tokens_;
  AddedTokenMatcher raw_matcher_;
  AddedTokenMatcher normalized_matcher_;
  std::vector<Token> tokens_;
  std::vector<int32_t> places_;  // in tokens_, by id; -1: no token
  std::unordered_map<std::string, int32_t> added_ids_;
  std::optional<int32_t> eos_token_id_;
  std::string source_;  // the path of tokenizer.json, for messages; empty for texts
  std::unique_ptr<WorkPool> pool_;
};

}  // namespace cohort
