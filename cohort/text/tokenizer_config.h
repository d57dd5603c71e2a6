// tokenizer_config.json: what transformers 5 changes in a tokenizer.json because of it.
#pragma once

#include <string>

#include "cohort/text/component.h"

namespace cohort {

/// Changes `tokenizer`, a parsed tokenizer.json, as `config`, a parsed tokenizer_config.json, asks:
/// - "added_tokens_decoder" overrides the flags of added tokens and adds those that are missing;
/// - named special tokens of the vocabulary become added tokens;
/// - "tokenizer_class" LlamaTokenizer puts its own handling of spaces ("legacy", "add_prefix_space") in the
/// place of the
///   file's, where `model_type` of config.json is "llama" or unknown (""), as transformers' classes do.
/// "add_bos_token" and "add_eos_token" have no effect beside a tokenizer.json. Throws FormatError naming the
/// key.
void apply_tokenizer_config(TokenizerJson& tokenizer, const TokenizerJson& config,
                            const std::string& model_type);

/// The content of a special token: a string, or an object that holds it; empty where it is absent.
std::string special_token_content(const TokenizerJson& config, const std::string& key);

}  // namespace cohort
