// A set of 64-bit hashes in one flat table: 11 to 22 bytes per hash.
#pragma once

#include <cstdint>
#include <vector>

namespace cohort {

/// The hashes must be uniform, such as those of `random_bits`. Two different things share a hash with
/// probability n^2 / 2^65: 3e-6 for ten million.
class HashSet {
 public:
  /// Adds the hash; true if it is new.
  bool insert(uint64_t hash) {
    if (4 * (size_ + 1) > 3 * table_.size()) grow();
    return place(hash == 0 ? 1 : hash);
  }

  int64_t size() const { return static_cast<int64_t>(size_); }

 private:
  bool place(uint64_t hash) {
    const uint64_t mask = table_.size() - 1;
    for (uint64_t slot = hash & mask;; slot = (slot + 1) & mask) {
      if (table_[slot] == hash) return false;
      if (table_[slot] != 0) continue;
      table_[slot] = hash;
      ++size_;
      return true;
    }
  }

  void grow() {
    std::vector<uint64_t> old(table_.empty() ? 1024 : 2 * table_.size());
    old.swap(table_);
    size_ = 0;
    for (const uint64_t hash : old) {
      if (hash != 0) place(hash);
    }
  }

  std::vector<uint64_t> table_;  // 0: a free slot
  uint64_t size_ = 0;
};

}  // namespace cohort
