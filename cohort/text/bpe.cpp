#include "cohort/text/bpe.h"

#include <queue>
#include <unordered_set>

#include "cohort/core/error.h"
#include "cohort/core/str.h"
#include "cohort/text/byte_level.h"

namespace cohort {
namespace {

const std::string kWhere = "model";

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

/// Options that this reader has no code for must be off.
void check_options(const TokenizerJson& config) {
  for (const std::string key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const TokenizerJson& value = field(config, key, kWhere);
    if (!value.is_null() && value != "") throw FormatError(str("model: \"", key, "\" is not supported"));
  }
  const TokenizerJson& dropout = field(config, "dropout", kWhere);
  if (!dropout.is_null() && dropout != 0.0) throw FormatError("model: \"dropout\" is not supported");
  if (bool_field_or(config, "byte_fallback", kWhere, false)) {
    throw FormatError("model: \"byte_fallback\" is not supported");
  }
}

/// A symbol of a word: a node in a doubly linked list of token ids. Index -1 ends the list.
struct Symbol {
  int32_t id;
  int previous;
  int next;
  bool merged_away = false;
};

/// A merge of the symbol at `position` with its successor.
struct Candidate {
  int32_t rank;
  int position;
  int32_t result;
};

/// Orders the queue by lowest rank, then leftmost.
struct ComesLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  }
};

}  // namespace

Bpe::Bpe(const TokenizerJson& config) {
  // Files older than tokenizers 0.9 do not name the type.
  const TokenizerJson& type = field(config, "type", kWhere);
  if (!type.is_null() && type != "BPE")
    throw_unsupported(kWhere, string_field(config, "type", kWhere), "BPE");
  check_options(config);
  fuse_unknown_ = bool_field_or(config, "fuse_unk", kWhere, false);
  ignore_merges_ = bool_field_or(config, "ignore_merges", kWhere, false);
  read_vocabulary(config);
  read_merges(config);
  map_bytes(config);
}

void Bpe::read_vocabulary(const TokenizerJson& config) {
  const TokenizerJson& vocabulary = field(config, "vocab", kWhere);
  if (!vocabulary.is_object()) throw FormatError("model: \"vocab\" must be an object of tokens and ids");
  std::unordered_set<int32_t> ids;
  for (const auto& [token, _] : vocabulary.items()) {
    const int32_t id = id_field(vocabulary, token, "model vocab");
    if (!ids.insert(id).second) throw FormatError(str("model vocab: two tokens have the id ", id));
    vocabulary_.emplace(token, id);
  }
}

void Bpe::read_merges(const TokenizerJson& config) {
  const TokenizerJson& merges = field(config, "merges", kWhere);
  if (!merges.is_array()) throw FormatError("model: \"merges\" must be an array");
  int32_t rank = 0;
  for (const TokenizerJson& entry : merges) {
    const bool is_header = entry.is_string() && entry.get_ref<const std::string&>().starts_with("#version");
    if (!is_header) read_merge(entry, rank++);
  }
}

void Bpe::read_merge(const TokenizerJson& entry, int32_t rank) {
  std::string left, right;
  if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
    left = entry[0].get<std::string>();
    right = entry[1].get<std::string>();
  } else if (entry.is_string()) {
    const std::string text = entry.get<std::string>();
    const size_t space = text.find(' ');
    left = text.substr(0, space);
    if (space != std::string::npos) right = text.substr(space + 1);
  }
  if (left.empty() || right.empty() || (entry.is_string() && right.find(' ') != std::string::npos)) {
    throw FormatError(str("model: merge ", rank, " is not a pair of tokens"));
  }
  merges_.insert_or_assign(pair_key(merge_token_id(left, rank), merge_token_id(right, rank)),
                           Merge{rank, merge_token_id(left + right, rank)});
}

int32_t Bpe::merge_token_id(const std::string& token, int32_t rank) const {
  const auto it = vocabulary_.find(token);
  if (it == vocabulary_.end())
    throw FormatError(str("model: merge ", rank, " needs \"", token, "\", which is not in the vocabulary"));
  return it->second;
}

void Bpe::map_bytes(const TokenizerJson& config) {
  const TokenizerJson& unknown = field(config, "unk_token", kWhere);
  const auto unknown_it =
      unknown.is_string() ? vocabulary_.find(unknown.get<std::string>()) : vocabulary_.end();
  for (int byte = 0; byte < 256; ++byte) {
    auto it = vocabulary_.find(byte_characters()[byte]);
    byte_is_unknown_[byte] = it == vocabulary_.end();
    if (byte_is_unknown_[byte]) it = unknown_it;
    if (it == vocabulary_.end()) {
      throw FormatError(str("model: the vocabulary lacks byte ", byte,
                            " and has no unknown token, so text would get lost"));
    }
    byte_ids_[byte] = it->second;
  }
}

const Bpe::Merge* Bpe::find_merge(int32_t left, int32_t right) const {
  const auto it = merges_.find(pair_key(left, right));
  return it == merges_.end() ? nullptr : &it->second;
}

std::vector<int32_t> Bpe::byte_tokens(std::string_view word) const {
  std::vector<int32_t> ids;
  bool previous_is_unknown = false;
  for (const char c : word) {
    const auto byte = static_cast<uint8_t>(c);
    const bool fuse = fuse_unknown_ && previous_is_unknown && byte_is_unknown_[byte];
    if (!fuse) ids.push_back(byte_ids_[byte]);
    previous_is_unknown = byte_is_unknown_[byte];
  }
  return ids;
}

void Bpe::encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    if (const auto it = vocabulary_.find(to_byte_characters(word)); it != vocabulary_.end()) {
      ids.push_back(it->second);
      return;
    }
  }
  std::vector<Symbol> symbols;
  for (const int32_t id : byte_tokens(word)) {
    const int position = static_cast<int>(symbols.size());
    symbols.push_back({id, position - 1, position + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;

  std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> queue;
  const auto push = [&](int position) {
    if (position < 0 || symbols[position].next < 0) return;
    const Merge* merge = find_merge(symbols[position].id, symbols[symbols[position].next].id);
    if (merge != nullptr) queue.push({merge->rank, position, merge->result});
  };
  for (int position = 0; position < std::ssize(symbols); ++position) push(position);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.position];
    if (left.merged_away || left.next < 0) continue;
    // A neighbour may have changed since. Like HF, this asks whether the pair still gives the same token, not
    // whether it is the same pair.
    Symbol& right = symbols[left.next];
    const Merge* merge = find_merge(left.id, right.id);
    if (merge == nullptr || merge->result != top.result) continue;
    left.id = top.result;
    left.next = right.next;
    right.merged_away = true;
    if (left.next >= 0) symbols[left.next].previous = top.position;
    push(left.previous);
    push(top.position);
  }
  for (int position = 0; position >= 0; position = symbols[position].next)
    ids.push_back(symbols[position].id);
}

}  // namespace cohort
