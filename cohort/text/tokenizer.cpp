#include "cohort/text/tokenizer.h"

#include <limits>
#include <unordered_set>

#include "cohort/core/error.h"
#include "cohort/core/input_file.h"
#include "cohort/core/local_model.h"
#include "cohort/text/encoder.h"
#include "cohort/text/tokenizer_config.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

/// Runs `read` and puts the file's name before the message of a FormatError.
auto naming_file(const std::filesystem::path& path, const auto& read) {
  try {
    return read();
  } catch (const FormatError& error) {
    throw FormatError(str(path.string(), ": ", error.what()));
  }
}

/// A file of the tokenizer's. Throws FormatError beginning with its path.
TokenizerJson read_tokenizer_json(const std::filesystem::path& path) {
  const std::string text = read_whole_file(path);
  return naming_file(path, [&] { return parse_tokenizer_json(text); });
}

/// "model_type" of config.json; empty where there is none.
std::string model_type_of(const std::filesystem::path& model_dir) {
  const std::filesystem::path path = model_dir / "config.json";
  if (!std::filesystem::is_regular_file(path)) return "";
  const TokenizerJson config = read_tokenizer_json(path);
  return naming_file(path, [&] {
    return field(config, "model_type", "the file").is_null() ? ""
                                                             : string_field(config, "model_type", "the file");
  });
}

void check_text(std::string_view text) {
  if (text.size() > std::numeric_limits<int32_t>::max()) {
    throw UserError(str("text to tokenize: ", text.size(), " bytes are more than the 2147483647 that fit"));
  }
  if (const std::optional<size_t> offset = find_invalid_utf8(text)) {
    throw UserError(str("text to tokenize: not well-formed UTF-8 at byte ", *offset));
  }
}

}  // namespace

Tokenizer Tokenizer::from_directory(const std::filesystem::path& model_dir) {
  const std::filesystem::path directory = local_model(model_dir);
  const std::filesystem::path path = directory / "tokenizer.json";
  TokenizerJson tokenizer = read_tokenizer_json(path);
  const std::filesystem::path config_path = directory / "tokenizer_config.json";
  TokenizerJson config = TokenizerJson::object();
  if (std::filesystem::exists(config_path)) {
    config = read_tokenizer_json(config_path);
    const std::string model_type = model_type_of(directory);
    naming_file(config_path, [&] { apply_tokenizer_config(tokenizer, config, model_type); });
  }
  Tokenizer result = naming_file(path, [&] { return Tokenizer(tokenizer); });
  result.source_ = path.string();
  naming_file(config_path, [&] { result.find_eos(config); });
  return result;
}

Tokenizer Tokenizer::from_json(std::string_view tokenizer_text, std::string_view config_text) {
  TokenizerJson tokenizer = parse_tokenizer_json(tokenizer_text);
  TokenizerJson config = TokenizerJson::object();
  if (!config_text.empty()) {
    config = parse_tokenizer_json(config_text);
    apply_tokenizer_config(tokenizer, config, "");
  }
  Tokenizer result(tokenizer);
  result.find_eos(config);
  return result;
}

Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer::Tokenizer(const TokenizerJson& config)
    : normalizer_(field(config, "normalizer", "the file")),
      pre_tokenizer_(field(config, "pre_tokenizer", "the file")),
      model_(field(config, "model", "the file"), pre_tokenizer_.ends_with_byte_level()),
      post_processor_(parse_post_processor(field(config, "post_processor", "the file"))),
      decoder_(field(config, "decoder", "the file")),
      added_tokens_(parse_added_tokens(field(config, "added_tokens", "the file"), model_.vocabulary())),
      raw_matcher_(added_tokens_, false, normalizer_),
      normalized_matcher_(added_tokens_, true, normalizer_),
      pool_(std::make_unique<WorkPool>()) {
  if (model_.takes_bytes()) pre_tokenizer_.leave_bytes();
  fill_tokens();
  for (const auto* side : {&post_processor_.prefix, &post_processor_.suffix}) {
    for (const int32_t id : *side) {
      if (!token(id)) throw FormatError(str("post_processor: there is no token with the id ", id));
    }
  }
}

void Tokenizer::add_token(int32_t id, Token token) {
  if (id >= vocab_size()) places_.resize(static_cast<size_t>(id) + 1, -1);
  int32_t& place = places_[static_cast<size_t>(id)];
  if (place < 0) {
    place = static_cast<int32_t>(tokens_.size());
    tokens_.emplace_back();
  }
  tokens_[static_cast<size_t>(place)] = std::move(token);
}

void Tokenizer::fill_tokens() {
  for (const auto& [spelling, id] : model_.vocabulary()) {
    Token token{spelling, spelling};
    if (!post_processor_.trims.empty()) {
      token.leading_spaces = leading_spaces(spelling);
      token.trailing_spaces = trailing_spaces(spelling);
    }
    add_token(id, std::move(token));
  }
  std::unordered_set<std::string> special;
  for (const AddedToken& added : added_tokens_) {
    if (added.special) special.insert(added.content);
  }
  for (const AddedToken& added : added_tokens_) {
    const std::optional<std::string> other = token(added.id);
    if (other && *other != added.content) {
      throw FormatError(
          str("added token ", quoted_name(added.content), " has the id of the token ", quoted_name(*other)));
    }
    // HF decodes what it looked for in the text, and knows special tokens by their contents.
    Token token{added.content, added.normalized ? normalizer_.normalize(added.content) : added.content};
    token.special = special.contains(token.decoded);
    token.leading_spaces = leading_spaces(added.content);
    token.trailing_spaces = trailing_spaces(added.content);
    add_token(added.id, std::move(token));
    added_ids_.emplace(added.content, added.id);
  }
}

void Tokenizer::find_eos(const TokenizerJson& config) {
  const std::string eos = special_token_content(config, "eos_token");
  if (eos.empty()) return;
  eos_token_id_ = token_id(eos);
  if (!eos_token_id_) throw FormatError(str("eos_token ", quoted_name(eos), " is not in tokenizer.json"));
}

/// Names the file whose regular expression gave up.
void Tokenizer::run(Encoder& encoder, EncodeOptions options) const {
  try {
    encoder.run(options);
  } catch (const UserError& error) {
    if (source_.empty()) throw;
    throw UserError(str(source_, ": ", error.what()));
  }
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  check_text(text);
  Encoder encoder(*this, text, false);
  run(encoder, options);
  return encoder.take_ids();
}

Encoding Tokenizer::encode_with_offsets(std::string_view text, EncodeOptions options) const {
  check_text(text);
  Encoder encoder(*this, text, true);
  run(encoder, options);
  return encoder.take_encoding();
}

std::string Tokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const int32_t id : ids) {
    if (const std::string* token = decoded_token(id, options)) tokens.push_back(*token);
  }
  return decoder_.decode(std::move(tokens));
}

const Tokenizer::Token* Tokenizer::find(int32_t id) const {
  if (id < 0 || id >= vocab_size()) return nullptr;
  const int32_t place = places_[static_cast<size_t>(id)];
  return place < 0 ? nullptr : &tokens_[static_cast<size_t>(place)];
}

std::optional<int32_t> Tokenizer::token_id(const std::string& token) const {
  if (const auto it = added_ids_.find(token); it != added_ids_.end()) return it->second;
  if (const auto it = model_.vocabulary().find(token); it != model_.vocabulary().end()) return it->second;
  return std::nullopt;
}

std::optional<std::string> Tokenizer::token(int32_t id) const {
  const Token* token = find(id);
  return token == nullptr ? std::nullopt : std::optional(token->spelling);
}

const std::string* Tokenizer::decoded_token(int32_t id, DecodeOptions options) const {
  const Token* token = find(id);
  return token == nullptr || (options.skip_special_tokens && token->special) ? nullptr : &token->decoded;
}

std::string Tokenizer::without_special_tokens(std::string text) const {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  for (const AddedToken& token : added_tokens_) {
    if (!token.special || token.content.empty()) continue;
    size_t first = 0;
    next_code_point(token.content, first);
    for (size_t at = text.find(token.content); at != std::string::npos; at = text.find(token.content, at))
      text.replace(at, first, kReplacement);
  }
  return text;
}

bool Tokenizer::is_special(int32_t id) const {
  const Token* token = find(id);
  return token != nullptr && token->special;
}

}  // namespace cohort
