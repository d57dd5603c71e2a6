// The merging of BPE: symbols of one word become fewer, lowest rank first, then leftmost, in O(n log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cohort/text/merge_table.h"

namespace cohort {

/// Tokens of a text and the bytes that each covers.
struct TokenRun {
  std::vector<int32_t> ids;
  std::vector<uint32_t> lengths;

  void add(int32_t id, uint32_t length) {
    ids.push_back(id);
    lengths.push_back(length);
  }
  size_t size() const { return ids.size(); }
  void clear() {
    ids.clear();
    lengths.clear();
  }
};

/// Memory that words share, and the work that they took. One thread at a time.
class WordMerger {
 public:
  /// Merges `symbols` in place. `results` are the merged tokens by rank; `unique_results` says that none
  /// comes twice.
  void merge(TokenRun& symbols, const MergeTable& merges, const std::vector<int32_t>& results,
             bool unique_results);

  /// Gives back memory beyond what usual texts take.
  void trim();

  /// Pairs looked up so far; for tests of how work grows.
  uint64_t num_lookups() const { return num_lookups_; }

 private:
  struct Symbol {
    int32_t id;
    uint32_t length;  // 0: merged away
    int32_t previous;
    int32_t next;  // -1: none
  };

  void merge_short(TokenRun& symbols, const MergeTable& merges);
  void merge_long(TokenRun& symbols, const MergeTable& merges, const std::vector<int32_t>& results);
  void push(const MergeTable& merges, int32_t position);
  uint64_t pop();

  std::vector<Symbol> symbols_;
  std::vector<uint64_t> queue_;  // rank << 32 | position, a heap with four children a node
  uint64_t num_lookups_ = 0;
};

}  // namespace cohort
