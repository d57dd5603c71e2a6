#include "cohort/text/bpe.h"

#include "cohort/core/error.h"
#include "cohort/text/byte_level.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr int kLogJunctionBits = 18;

size_t junction_bit(char32_t left, char32_t right) {
  const uint64_t key = static_cast<uint64_t>(left) << 32 | right;
  return key * 0x9E3779B97F4A7C15u >> (64 - kLogJunctionBits);
}

}  // namespace

void Bpe::note_junction(std::string_view left, std::string_view right) {
  size_t pos = 0;
  const size_t bit = junction_bit(last_code_point(left), next_code_point(right, pos));
  junctions_[bit / 64] |= uint64_t{1} << bit % 64;
}

bool Bpe::may_join(char32_t left, char32_t right) const {
  const size_t bit = junction_bit(left, right);
  return (junctions_[bit / 64] >> bit % 64 & 1) != 0;
}

int32_t Bpe::character_id(char32_t c) const {
  if (c < 128) return ascii_ids_[c];
  const auto it = character_ids_.find(c);
  return it == character_ids_.end() ? -1 : it->second;
}

void Bpe::encode(std::string_view word, TokenRun& tokens, Work& work) const {
  if (takes_bytes_ || word.size() <= WordCache::kMaxBytes || ignore_merges_ || !prefix_.empty() ||
      !suffix_.empty()) {
    return encode_piece(word, tokens, work);
  }
  // Between two known characters that no merge joins the word falls apart into pieces that do not touch each
  // other.
  size_t begin = 0;
  size_t pos = 0;
  char32_t previous = next_code_point(word, pos);
  while (pos < word.size()) {
    const size_t boundary = pos;
    const char32_t next = next_code_point(word, pos);
    if (!may_join(previous, next) && character_id(previous) >= 0 && character_id(next) >= 0) {
      encode_piece(word.substr(begin, boundary - begin), tokens, work);
      begin = boundary;
    }
    previous = next;
  }
  encode_piece(word.substr(begin), tokens, work);
}

void Bpe::encode_piece(std::string_view piece, TokenRun& tokens, Work& work) const {
  if (piece.empty()) return;
  if (piece.size() > WordCache::kMaxBytes) return compute(piece, tokens, work);
  WordCache::Entry& entry = work.cache.entry(piece);
  if (WordCache::holds(entry, piece)) {
    for (size_t i = 0; i < entry.num_tokens; ++i) tokens.add(entry.ids[i], entry.lengths[i]);
    return;
  }
  const size_t first = tokens.size();
  compute(piece, tokens, work);
  WordCache::put(entry, piece, tokens, first);
}

void Bpe::compute(std::string_view piece, TokenRun& tokens, Work& work) const {
  if (ignore_merges_) {
    const Vocabulary& words = takes_bytes_ ? byte_words_ : vocabulary_;
    if (const auto it = words.find(std::string(piece)); it != words.end()) {
      tokens.add(it->second, static_cast<uint32_t>(piece.size()));
      return;
    }
  }
  TokenRun& symbols = work.symbols;
  symbols.clear();
  if (takes_bytes_) {
    split_bytes(piece, symbols);
  } else {
    split_characters(piece, symbols);
  }
  work.merger.merge(symbols, merges_, results_, unique_results_);
  tokens.ids.insert(tokens.ids.end(), symbols.ids.begin(), symbols.ids.end());
  tokens.lengths.insert(tokens.lengths.end(), symbols.lengths.begin(), symbols.lengths.end());
}

void Bpe::split_bytes(std::string_view word, TokenRun& symbols) const {
  bool previous_is_unknown = false;
  for (const char c : word) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    if (id >= 0) {
      symbols.add(id, 1);
    } else if (fuse_unknown_ && previous_is_unknown) {
      ++symbols.lengths.back();
    } else {
      if (unknown_id_ < 0) throw_no_unknown();
      symbols.add(unknown_id_, 1);
    }
    previous_is_unknown = id < 0;
  }
}

/// An unknown token waits until a known character follows, as in HF: bytes of a fallback overtake it.
void Bpe::split_characters(std::string_view word, TokenRun& symbols) const {
  uint32_t unknown_length = 0;  // of the one that waits; 0: none
  std::string spelling;
  const auto flush = [&] {
    if (unknown_length > 0) symbols.add(unknown_id_, unknown_length);
    unknown_length = 0;
  };
  for (size_t pos = 0; pos < word.size();) {
    const size_t begin = pos;
    const char32_t c = next_code_point(word, pos);
    const bool plain = prefix_.empty() && suffix_.empty();
    const int32_t id = plain ? character_id(c) : affixed_id(word, begin, pos, spelling);
    const auto length = static_cast<uint32_t>(pos - begin);
    if (id >= 0) {
      flush();
      symbols.add(id, length);
      continue;
    }
    if (byte_fallback_ && fall_back_to_bytes(plain ? word.substr(begin, length) : spelling, symbols))
      continue;
    if (!unknown_) continue;  // HF drops the character
    if (unknown_id_ < 0) throw_no_unknown();
    if (!fuse_unknown_) flush();
    unknown_length += length;
  }
  flush();
}

/// The id of a character with the prefix or suffix of its place in the word, which `spelling` becomes; -1:
/// none.
int32_t Bpe::affixed_id(std::string_view word, size_t begin, size_t end, std::string& spelling) const {
  spelling.clear();
  if (begin > 0) spelling += prefix_;
  spelling += word.substr(begin, end - begin);
  if (end == word.size()) spelling += suffix_;
  const auto it = vocabulary_.find(spelling);
  return it == vocabulary_.end() ? -1 : it->second;
}

bool Bpe::fall_back_to_bytes(std::string_view spelling, TokenRun& symbols) const {
  for (const char c : spelling) {
    if (fallback_ids_[static_cast<uint8_t>(c)] < 0) return false;
  }
  for (const char c : spelling) symbols.add(fallback_ids_[static_cast<uint8_t>(c)], 1);
  return true;
}

void Bpe::throw_no_unknown() const {
  throw UserError(str("tokenizer.json: model: the text needs the unknown token ",
                      quoted_name(unknown_.value_or("")), ", which is not in the vocabulary"));
}

}  // namespace cohort
