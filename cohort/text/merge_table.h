// The merges of BPE: which two tokens become which one, and at what rank; a flat hash table.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort {

struct Merge {
  uint32_t rank;
  int32_t result;
};

class MergeTable {
 public:
  explicit MergeTable(size_t max_merges = 0)
      : slots_(std::bit_ceil(2 * max_merges + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  /// A later merge of the same pair replaces an earlier one.
  void insert(int32_t left, int32_t right, Merge merge) {
    *find_slot(key_of(left, right)) = {key_of(left, right), merge};
  }

  /// Null where the pair does not merge.
  const Merge* find(int32_t left, int32_t right) const {
    const Slot& slot = *const_cast<MergeTable*>(this)->find_slot(key_of(left, right));
    return slot.key == kFree ? nullptr : &slot.merge;
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};

  struct Slot {
    uint64_t key = kFree;
    Merge merge{0, 0};
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }

  Slot* find_slot(uint64_t key) {
    for (size_t i = key * 0x9E3779B97F4A7C15u >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key || slots_[i].key == kFree) return &slots_[i];
    }
  }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace cohort
