#include "cohort/text/added_tokens.h"

#include <algorithm>
#include <unordered_set>

#include "cohort/core/error.h"
#include "libs/common/str.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

AddedToken parse_added_token(const TokenizerJson& json) {
  const std::string content = string_field(json, "content", "added_tokens");
  const std::string where = str("added token ", quoted_name(content));
  return {.id = id_field(json, "id", where),
          .content = content,
          .special = bool_field(json, "special", where),
          .lstrip = bool_field(json, "lstrip", where),
          .rstrip = bool_field(json, "rstrip", where),
          .single_word = bool_field(json, "single_word", where),
          .normalized = bool_field(json, "normalized", where)};
}

bool word_borders_on(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 && word_characters().contains(last_code_point(text.substr(0, begin)))) return true;
  return end < text.size() && word_characters().contains(next_code_point(text, end));
}

size_t begin_of_space_before(std::string_view text, size_t end, size_t limit) {
  while (end > limit) {
    const char32_t last = last_code_point(text.substr(0, end));
    if (!white_space().contains(last)) break;
    do --end;
    while ((static_cast<uint8_t>(text[end]) & 0xC0) == 0x80);
  }
  return end;
}

size_t end_of_space_behind(std::string_view text, size_t begin) {
  for (size_t pos = begin; pos < text.size() && white_space().contains(next_code_point(text, pos));)
    begin = pos;
  return begin;
}

}  // namespace

std::vector<AddedToken> parse_added_tokens(const TokenizerJson& list,
                                           const std::unordered_map<std::string, int32_t>& vocabulary) {
  if (!list.is_null() && !list.is_array()) throw FormatError("\"added_tokens\" must be an array");
  std::vector<AddedToken> tokens;
  std::unordered_set<std::string> contents;
  auto next_id = static_cast<int32_t>(vocabulary.size());
  for (const TokenizerJson& json : list) {
    AddedToken token = parse_added_token(json);
    if (token.content.empty()) throw FormatError("added_tokens: a token without content");
    if (token.content.size() > 1024)
      throw FormatError(str("added token ", token.id, ": \"content\" is longer than 1024 bytes"));
    if (!contents.insert(token.content).second) {
      throw FormatError(str("added token ", quoted_name(token.content), " is listed twice"));
    }
    const auto known = vocabulary.find(token.content);
    const int32_t expected = known == vocabulary.end() ? next_id : known->second;
    if (token.id != expected) {
      throw FormatError(str("added token ", quoted_name(token.content), " has the id ", token.id,
                            ", but its place is ", expected, ": the vocabulary's id, or the next free one"));
    }
    if (known == vocabulary.end()) ++next_id;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

AddedTokenMatcher::AddedTokenMatcher(const std::vector<AddedToken>& tokens, bool normalized,
                                     const Normalizer& normalizer) {
  // Where two contents normalize to the same text the first one wins, special tokens before others.
  for (const bool special : {true, false}) {
    for (const AddedToken& token : tokens) {
      if (token.special != special || token.normalized != normalized) continue;
      insert(normalized ? normalizer.normalize(token.content) : token.content,
             static_cast<int>(tokens_.size()));
      tokens_.push_back(token);
    }
  }
}

void AddedTokenMatcher::insert(const std::string& content, int token) {
  if (content.empty()) return;
  if (!begins_token_[static_cast<uint8_t>(content[0])]) first_bytes_ += content[0];
  begins_token_[static_cast<uint8_t>(content[0])] = true;
  int node = 0;
  for (const char byte : content) {
    int next = child(node, byte);
    if (next < 0) {
      next = static_cast<int>(trie_.size());
      trie_[node].children.emplace_back(byte, next);
      trie_.emplace_back();
    }
    node = next;
  }
  if (trie_[node].token < 0) trie_[node].token = token;
}

int AddedTokenMatcher::child(int node, char byte) const {
  for (const auto& [edge, next] : trie_[node].children) {
    if (edge == byte) return next;
  }
  return -1;
}

std::optional<std::pair<int, size_t>> AddedTokenMatcher::match_at(std::string_view text, size_t begin) const {
  std::optional<std::pair<int, size_t>> longest;
  int node = 0;
  for (size_t pos = begin; pos < text.size(); ++pos) {
    node = child(node, text[pos]);
    if (node < 0) break;
    if (trie_[node].token >= 0) longest = {trie_[node].token, pos + 1};
  }
  return longest;
}

/// The first place from `pos` on where a token may begin; the size of `text` where there is none.
size_t AddedTokenMatcher::next_candidate(std::string_view text, size_t pos) const {
  if (tokens_.empty()) return text.size();
  if (first_bytes_.size() == 1) return std::min(text.find(first_bytes_[0], pos), text.size());
  while (pos < text.size() && !begins_token_[static_cast<uint8_t>(text[pos])]) ++pos;
  return pos;
}

std::vector<AddedTokenPiece> AddedTokenMatcher::split(std::string_view text) const {
  std::vector<AddedTokenPiece> pieces;
  size_t covered = 0;
  for (size_t pos = next_candidate(text, 0); pos < text.size(); pos = next_candidate(text, pos)) {
    const auto match = match_at(text, pos);
    if (!match) {
      ++pos;
      continue;
    }
    const AddedToken& token = tokens_[match->first];
    size_t begin = pos;
    size_t end = match->second;
    // A rejected match is passed over whole, and the search goes on behind the token itself even where rstrip
    // reaches further: both as HF does.
    pos = end;
    if (token.single_word && word_borders_on(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(begin_of_space_before(text, begin, covered), covered);
    if (token.rstrip) end = end_of_space_behind(text, end);
    if (begin > covered) pieces.push_back({std::nullopt, covered, begin});
    pieces.push_back({token.id, begin, end});
    covered = end;
  }
  if (covered < text.size()) pieces.push_back({std::nullopt, covered, text.size()});
  return pieces;
}

}  // namespace cohort
