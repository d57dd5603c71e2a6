#include "cohort/text/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include "cohort/core/error.h"
#include "cohort/core/str.h"
#include "cohort/text/decoder.h"
#include "cohort/text/utf8.h"

namespace cohort {
namespace {

TokenizerJson read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FormatError(str(path.string(), ": the file can't be read"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  try {
    return TokenizerJson::parse(text);
  } catch (const TokenizerJson::parse_error& error) {
    throw FormatError(str(path.string(), ": malformed JSON at byte ", error.byte));
  }
}

/// Runs `read` and puts the file's name before the message of a FormatError.
auto naming_file(const std::filesystem::path& path, const auto& read) {
  try {
    return read();
  } catch (const FormatError& error) {
    throw FormatError(str(path.string(), ": ", error.what()));
  }
}

/// A special token is a string, or an object with its content.
std::optional<std::string> special_token(const TokenizerJson& config, const std::string& key) {
  const TokenizerJson& value = field(config, key, "the file");
  if (value.is_null()) return std::nullopt;
  return value.is_object() ? string_field(value, "content", key) : string_field(config, key, "the file");
}

}  // namespace

Tokenizer Tokenizer::from_directory(const std::filesystem::path& model_dir) {
  const std::filesystem::path path = model_dir / "tokenizer.json";
  const TokenizerJson config = read_file(path);
  Tokenizer tokenizer = naming_file(path, [&] { return Tokenizer(config); });
  const std::filesystem::path config_path = model_dir / "tokenizer_config.json";
  if (std::filesystem::exists(config_path)) {
    const TokenizerJson tokenizer_config = read_file(config_path);
    naming_file(config_path, [&] { tokenizer.read_tokenizer_config(tokenizer_config); });
  }
  return tokenizer;
}

Tokenizer::Tokenizer(const TokenizerJson& config)
    : normalizer_(field(config, "normalizer", "the file")),
      pre_tokenizer_(field(config, "pre_tokenizer", "the file")),
      model_(field(config, "model", "the file")),
      post_processor_(parse_post_processor(field(config, "post_processor", "the file"))),
      added_tokens_(parse_added_tokens(field(config, "added_tokens", "the file"), model_.vocabulary())),
      raw_matcher_(added_tokens_, false, normalizer_),
      normalized_matcher_(added_tokens_, true, normalizer_) {
  fill_tokens(config);
  for (const auto* side : {&post_processor_.prefix, &post_processor_.suffix}) {
    for (const int32_t id : *side) {
      if (!token(id)) throw FormatError(str("post_processor: there is no token with the id ", id));
    }
  }
}

void Tokenizer::fill_tokens(const TokenizerJson& config) {
  const Decoder decoder(field(config, "decoder", "the file"));
  const auto add = [&](int32_t id, Token token) {
    if (id >= vocab_size()) tokens_.resize(id + 1);
    tokens_[id] = std::move(token);
  };
  for (const auto& [spelling, id] : model_.vocabulary())
    add(id, {spelling, decoder.token_bytes(spelling), false});
  for (const AddedToken& added : added_tokens_) {
    const std::optional<std::string> other = token(added.id);
    if (other && *other != added.content) {
      throw FormatError(str("added token \"", added.content, "\" has the id of the token \"", *other, "\""));
    }
    // HF decodes what it looked for in the text, and does not know it as special where that is not the
    // content.
    const std::string sought = added.normalized ? normalizer_.normalize(added.content) : added.content;
    add(added.id, {added.content, decoder.token_bytes(sought), added.special && sought == added.content});
    added_ids_.emplace(added.content, added.id);
  }
}

void Tokenizer::read_tokenizer_config(const TokenizerJson& config) {
  if (const std::optional<std::string> eos = special_token(config, "eos_token")) {
    eos_token_id_ = token_id(*eos);
    if (!eos_token_id_) throw FormatError(str("eos_token \"", *eos, "\" is not in tokenizer.json"));
  }
  const TokenizerJson& added = field(config, "added_tokens_decoder", "the file");
  for (const auto& [key, value] : added.items()) {
    const std::string content = string_field(value, "content", "added_tokens_decoder");
    const std::optional<int32_t> id = token_id(content);
    if (!id || std::to_string(*id) != key) {
      throw FormatError(
          str("added_tokens_decoder: \"", content, "\" is not token ", key, " of tokenizer.json"));
    }
    const bool special = bool_field_or(value, "special", "added_tokens_decoder", is_special(*id));
    if (special != is_special(*id)) {
      throw FormatError(
          str("added_tokens_decoder: \"special\" of \"", content, "\" differs from tokenizer.json"));
    }
  }
  const bool adds_prefix = !post_processor_.prefix.empty();
  const bool adds_suffix = !post_processor_.suffix.empty();
  if (bool_field_or(config, "add_bos_token", "the file", adds_prefix) != adds_prefix) {
    throw FormatError("add_bos_token contradicts the post_processor of tokenizer.json");
  }
  if (bool_field_or(config, "add_eos_token", "the file", adds_suffix) != adds_suffix) {
    throw FormatError("add_eos_token contradicts the post_processor of tokenizer.json");
  }
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (const std::optional<size_t> offset = find_invalid_utf8(text)) {
    throw UserError(str("text to tokenize: not well-formed UTF-8 at byte ", *offset));
  }
  std::vector<int32_t> ids;
  if (options.add_special_tokens) ids = post_processor_.prefix;
  for (const AddedTokenPiece& piece : raw_matcher_.split(text)) {
    if (piece.id) {
      ids.push_back(*piece.id);
    } else {
      encode_text(piece.text, ids);
    }
  }
  if (options.add_special_tokens)
    ids.insert(ids.end(), post_processor_.suffix.begin(), post_processor_.suffix.end());
  return ids;
}

/// What lies between the added tokens that are not normalized.
void Tokenizer::encode_text(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string normalized = normalizer_.normalize(text);
  for (const AddedTokenPiece& piece : normalized_matcher_.split(normalized)) {
    if (piece.id) {
      ids.push_back(*piece.id);
      continue;
    }
    for (const std::string& word : pre_tokenizer_.split(piece.text)) model_.encode(word, ids);
  }
}

std::string Tokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (!options.skip_special_tokens || !is_special(id)) bytes += token_bytes(id);
  }
  return take_all_utf8(bytes);
}

const Tokenizer::Token* Tokenizer::find(int32_t id) const {
  return id >= 0 && id < vocab_size() ? &tokens_[id] : nullptr;
}

std::optional<int32_t> Tokenizer::token_id(const std::string& token) const {
  if (const auto it = added_ids_.find(token); it != added_ids_.end()) return it->second;
  if (const auto it = model_.vocabulary().find(token); it != model_.vocabulary().end()) return it->second;
  return std::nullopt;
}

std::optional<std::string> Tokenizer::token(int32_t id) const {
  const Token* token = find(id);
  return token == nullptr ? std::nullopt : token->spelling;
}

const std::string& Tokenizer::token_bytes(int32_t id) const {
  static const std::string none;
  const Token* token = find(id);
  return token == nullptr ? none : token->bytes;
}

bool Tokenizer::is_special(int32_t id) const {
  const Token* token = find(id);
  return token != nullptr && token->special;
}

}  // namespace cohort
