#include "cohort/text/tokenizer_config.h"

#include <map>
#include <unordered_map>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

constexpr const char* kWhere = "the file";

/// The added tokens of a tokenizer.json, by content.
class AddedTokenList {
 public:
  explicit AddedTokenList(TokenizerJson& tokenizer) {
    static const TokenizerJson no_vocabulary = TokenizerJson::object();
    TokenizerJson& list = tokenizer["added_tokens"];
    if (list.is_null()) list = TokenizerJson::array();
    if (!list.is_array()) throw FormatError("tokenizer.json: \"added_tokens\" must be an array");
    list_ = &list;
    const auto model = tokenizer.find("model");
    const bool has_vocabulary = model != tokenizer.end() && model->is_object() && model->contains("vocab") &&
                                model->at("vocab").is_object();
    vocabulary_ = has_vocabulary ? &model->at("vocab") : &no_vocabulary;
    for (size_t i = 0; i < list.size(); ++i)
      places_.emplace(string_field(list[i], "content", "tokenizer.json: added_tokens"), i);
  }

  bool contains(const std::string& content) const { return places_.contains(content); }

  /// The id that tokenizer.json gives to a token; null where it gives none.
  const TokenizerJson* id_of(const std::string& content) const {
    if (const auto it = places_.find(content); it != places_.end()) {
      const auto id = (*list_)[it->second].find("id");
      return id == (*list_)[it->second].end() ? nullptr : &*id;
    }
    const auto it = vocabulary_->find(content);
    return it == vocabulary_->end() ? nullptr : &*it;
  }

  /// Replaces the token of this content, or appends it.
  void put(const std::string& content, TokenizerJson token) {
    const auto [it, is_new] = places_.emplace(content, list_->size());
    if (is_new) {
      list_->push_back(std::move(token));
    } else {
      (*list_)[it->second] = std::move(token);
    }
  }

 private:
  TokenizerJson* list_;
  const TokenizerJson* vocabulary_;
  std::unordered_map<std::string, size_t> places_;
};

/// A token with Python's defaults for flags that `flags` lacks.
TokenizerJson added_token(const TokenizerJson& flags, const std::string& content, const TokenizerJson& id,
                          bool is_named) {
  const std::string where = str("token ", quoted_name(content));
  const bool flagged = bool_field_or(flags, "special", where, false);
  return {{"id", id},
          {"content", content},
          {"special", flagged || is_named},
          {"lstrip", bool_field_or(flags, "lstrip", where, false)},
          {"rstrip", bool_field_or(flags, "rstrip", where, false)},
          {"single_word", bool_field_or(flags, "single_word", where, false)},
          {"normalized", bool_field_or(flags, "normalized", where, !flagged)}};
}

constexpr const char* kNamedTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};

/// Tokens with a name, and further special ones, in transformers' order: contents with their flags.
std::vector<std::pair<std::string, TokenizerJson>> special_tokens(const TokenizerJson& config) {
  std::vector<std::pair<std::string, TokenizerJson>> out;
  const auto add = [&](const TokenizerJson& value, const std::string& key) {
    if (value.is_null()) return;
    if (value.is_string()) {
      out.emplace_back(value.get<std::string>(), TokenizerJson{{"special", true}});
    } else {
      out.emplace_back(string_field(value, "content", key), value);
    }
  };
  for (const std::string key : kNamedTokens) add(field(config, key, kWhere), key);
  for (const std::string key : {"extra_special_tokens", "additional_special_tokens"}) {
    const TokenizerJson& list = field(config, key, kWhere);
    if (!list.is_null() && !list.is_structured())
      throw FormatError(str(quoted_name(key), " must be a list of tokens"));
    for (const TokenizerJson& value : list) add(value, key);
  }
  return out;
}

void apply_added_tokens(AddedTokenList& tokens, const TokenizerJson& config) {
  const std::string key = "added_tokens_decoder";
  const TokenizerJson& decoder = field(config, key, kWhere);
  if (decoder.is_null()) return;
  if (!decoder.is_object()) throw FormatError("\"added_tokens_decoder\" must be an object of ids and tokens");
  std::map<int64_t, std::string> by_id;  // new tokens take their places in the order of ids
  for (auto it = decoder.begin(); it != decoder.end(); ++it) {
    const std::string& id = it.key();
    const bool is_number =
        !id.empty() && id.size() < 9 && id.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number)
      throw FormatError(str("added_tokens_decoder: the key ", quoted_name(id), " is no token id"));
    by_id.emplace(std::stoll(id), id);
  }
  std::map<std::string, bool> is_named;
  for (const char* name : kNamedTokens) is_named[special_token_content(config, name)] = true;
  for (const auto& [id, text] : by_id) {
    const TokenizerJson& token = decoder.at(text);
    const std::string content = string_field(token, "content", key);
    if (content.empty()) throw FormatError(str("added_tokens_decoder: token ", text, " has no content"));
    const TokenizerJson* known = tokens.id_of(content);
    if (known != nullptr && *known != id) {
      throw FormatError(
          str("added_tokens_decoder: ", quoted_name(content), " is not token ", id, " of tokenizer.json"));
    }
    tokens.put(content, added_token(token, content, id, is_named.contains(content)));
  }
}

void apply_special_tokens(AddedTokenList& tokens, const TokenizerJson& config) {
  for (const auto& [content, flags] : special_tokens(config)) {
    if (content.empty() || tokens.contains(content)) continue;
    if (const TokenizerJson* id = tokens.id_of(content)) {
      tokens.put(content, added_token(flags, content, *id, true));
    } else {
      log_warn("tokenizer_config.json: the special token ", quoted_name(content),
               " is not in tokenizer.json and gets no id");
    }
  }
}

TokenizerJson metaspace(const std::string& scheme) {
  return {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}, {"split", false}};
}

/// What transformers' LlamaTokenizer makes of a file's vocabulary and merges.
void apply_llama_class(TokenizerJson& tokenizer, const TokenizerJson& config) {
  const bool add_prefix_space = bool_field_or(config, "add_prefix_space", kWhere, true);
  const bool legacy = bool_field_or(config, "legacy", kWhere, false);
  tokenizer["normalizer"] = nullptr;
  tokenizer["pre_tokenizer"] = metaspace(!add_prefix_space ? "never" : legacy ? "always" : "first");
  TokenizerJson steps = {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
                         {{"type", "ByteFallback"}},
                         {{"type", "Fuse"}}};
  if (add_prefix_space) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  tokenizer["decoder"] = {{"type", "Sequence"}, {"decoders", steps}};
  TokenizerJson& model = tokenizer["model"];
  model["unk_token"] = nullptr;
  model["fuse_unk"] = true;
  model["byte_fallback"] = true;
  model["ignore_merges"] = false;
}

bool is_llama_class(const TokenizerJson& tokenizer, const TokenizerJson& config,
                    const std::string& model_type) {
  const TokenizerJson& name = field(config, "tokenizer_class", kWhere);
  if (name != "LlamaTokenizer" && name != "LlamaTokenizerFast") return false;
  if (!model_type.empty() && model_type != "llama") return false;
  // A byte-level vocabulary makes no sense with the class, which such files name by mistake.
  const TokenizerJson& model = field(tokenizer, "model", kWhere);
  return model.is_object() && model.contains("vocab") && model.at("vocab").is_object() &&
         model.at("vocab").contains("<0x0A>");
}

}  // namespace

void apply_tokenizer_config(TokenizerJson& tokenizer, const TokenizerJson& config,
                            const std::string& model_type) {
  if (!tokenizer.is_object()) throw FormatError("tokenizer.json must be a JSON object");
  if (bool_field_or(config, "split_special_tokens", kWhere, false))
    throw FormatError("\"split_special_tokens\" is not supported; remove it");
  if (is_llama_class(tokenizer, config, model_type)) apply_llama_class(tokenizer, config);
  AddedTokenList tokens(tokenizer);
  apply_added_tokens(tokens, config);
  apply_special_tokens(tokens, config);
}

std::string special_token_content(const TokenizerJson& config, const std::string& key) {
  const TokenizerJson& value = field(config, key, kWhere);
  if (value.is_null()) return "";
  return value.is_object() ? string_field(value, "content", key) : string_field(config, key, kWhere);
}

}  // namespace cohort
