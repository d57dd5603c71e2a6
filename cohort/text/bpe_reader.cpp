// Reading the "model" of tokenizer.json into a Bpe.
#include <algorithm>
#include <unordered_set>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/text/bpe.h"
#include "cohort/text/byte_level.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr const char* kWhere = "model";

std::optional<std::string> optional_string(const TokenizerJson& config, const std::string& key) {
  if (field(config, key, kWhere).is_null()) return std::nullopt;
  return string_field(config, key, kWhere);
}

/// ["a", "b"] or "a b".
std::pair<std::string, std::string> parse_merge(const TokenizerJson& entry, size_t number) {
  std::pair<std::string, std::string> pair;
  if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
    pair = {entry[0].get<std::string>(), entry[1].get<std::string>()};
  } else if (entry.is_string()) {
    const std::string& text = entry.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
      pair = {text.substr(0, space), text.substr(space + 1)};
  }
  if (pair.first.empty() || pair.second.empty())
    throw FormatError(str("model: merge ", number, " is not a pair of tokens"));
  return pair;
}

}  // namespace

Bpe::Bpe(const TokenizerJson& config, bool byte_level) {
  // Files older than tokenizers 0.9 do not name the type.
  const TokenizerJson& type = field(config, "type", kWhere);
  if (!type.is_null() && type != "BPE")
    throw_unsupported(kWhere, string_field(config, "type", kWhere), "BPE");
  read_options(config);
  read_vocabulary(config);
  if (unknown_) {
    const auto it = vocabulary_.find(*unknown_);
    if (it != vocabulary_.end()) unknown_id_ = it->second;
  }
  index_characters(byte_level);
  read_merges(config);
}

void Bpe::read_options(const TokenizerJson& config) {
  const TokenizerJson& dropout = field(config, "dropout", kWhere);
  if (!dropout.is_null() && !dropout.is_number()) throw FormatError("model: \"dropout\" must be a number");
  if (dropout.is_number() && dropout != 0.0) {
    throw FormatError("model: \"dropout\" would make tokens random; set it to null");
  }
  fuse_unknown_ = bool_field_or(config, "fuse_unk", kWhere, false);
  ignore_merges_ = bool_field_or(config, "ignore_merges", kWhere, false);
  byte_fallback_ = bool_field_or(config, "byte_fallback", kWhere, false);
  prefix_ = optional_string(config, "continuing_subword_prefix").value_or("");
  suffix_ = optional_string(config, "end_of_word_suffix").value_or("");
  unknown_ = optional_string(config, "unk_token");
  if (prefix_.size() + suffix_.size() > 256)
    throw FormatError(
        "model: \"continuing_subword_prefix\" and \"end_of_word_suffix\" are longer than 256 bytes");
}

void Bpe::read_vocabulary(const TokenizerJson& config) {
  const TokenizerJson& vocabulary = field(config, "vocab", kWhere);
  if (!vocabulary.is_object()) throw FormatError("model: \"vocab\" must be an object of tokens and ids");
  std::unordered_set<int32_t> ids;
  // Holes cost memory, so they are bounded by the number of tokens.
  const int64_t max_id = (1 << 20) + 4 * static_cast<int64_t>(vocabulary.size());
  vocabulary_.reserve(vocabulary.size());
  for (auto it = vocabulary.begin(); it != vocabulary.end(); ++it) {
    const int32_t id = id_field(vocabulary, it.key(), "model vocab");
    if (id > max_id) {
      throw FormatError(str("model vocab: ", quoted_name(it.key()), " has the id ", id, ", far beyond its ",
                            vocabulary.size(), " tokens"));
    }
    if (!ids.insert(id).second) throw FormatError(str("model vocab: two tokens have the id ", id));
    vocabulary_.emplace(it.key(), id);
  }
}

void Bpe::read_merges(const TokenizerJson& config) {
  const TokenizerJson& merges = field(config, "merges", kWhere);
  if (!merges.is_array()) throw FormatError("model: \"merges\" must be an array");
  merges_ = MergeTable(merges.size());
  if (!takes_bytes_) junctions_.assign((size_t{1} << 18) / 64, 0);
  std::unordered_set<int32_t> known_results;
  for (const TokenizerJson& entry : merges) {
    if (entry.is_string() && entry.get_ref<const std::string&>().starts_with("#version")) continue;
    const size_t number = results_.size();
    const auto [left, right] = parse_merge(entry, number);
    if (right.size() < prefix_.size() || !right.starts_with(prefix_)) {
      throw FormatError(
          str("model: merge ", number, ": ", quoted_name(right), " lacks the prefix ", quoted_name(prefix_)));
    }
    const int32_t left_id = merge_token_id(left, number);
    const int32_t right_id = merge_token_id(right, number);
    const int32_t result = merge_token_id(left + right.substr(prefix_.size()), number);
    merges_.insert(left_id, right_id, {static_cast<uint32_t>(number), result});
    results_.push_back(result);
    unique_results_ = known_results.insert(result).second && unique_results_;
    if (!takes_bytes_) note_junction(left, right);
  }
}

int32_t Bpe::merge_token_id(const std::string& token, size_t number) const {
  const auto it = vocabulary_.find(token);
  if (it == vocabulary_.end())
    throw FormatError(
        str("model: merge ", number, " needs ", quoted_name(token), ", which is not in the vocabulary"));
  return it->second;
}

void Bpe::index_characters(bool byte_level) {
  const auto id_of = [&](const std::string& spelling) {
    const auto it = vocabulary_.find(spelling);
    return it == vocabulary_.end() ? -1 : it->second;
  };
  constexpr const char* kHex = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = id_of(byte_characters()[byte]);
    fallback_ids_[byte] = id_of(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">");
  }
  ascii_ids_.fill(-1);
  for (const auto& [spelling, id] : vocabulary_) {
    size_t pos = 0;
    if (spelling.empty()) continue;
    const char32_t c = next_code_point(spelling, pos);
    if (pos != spelling.size()) continue;
    if (c < 128) {
      ascii_ids_[c] = id;
    } else {
      character_ids_.emplace(c, id);
    }
  }
  const bool all_bytes = std::all_of(byte_ids_.begin(), byte_ids_.end(), [](int32_t id) { return id >= 0; });
  takes_bytes_ =
      byte_level && prefix_.empty() && suffix_.empty() && !byte_fallback_ && (all_bytes || unknown_);
  if (byte_level && !all_bytes && !unknown_ && !byte_fallback_) {
    log_warn(
        "tokenizer.json: model: the vocabulary lacks bytes and names no unknown token, so text that holds "
        "such "
        "bytes loses them (as in Hugging Face's tokenizers)");
  }
  if (!takes_bytes_ || !ignore_merges_) return;
  for (const auto& [spelling, id] : vocabulary_) {
    if (const std::optional<std::string> bytes = from_byte_characters(spelling))
      byte_words_.emplace(*bytes, id);
  }
}

}  // namespace cohort
