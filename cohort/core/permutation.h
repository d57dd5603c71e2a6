// An order of n things that is computed, not stored: a permutation of 0 .. n - 1 addressed by a seed and
// words such as an epoch.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "libs/common/random.h"

namespace cohort {

/// A Feistel network over the smallest power of two that holds n, whose round function is Philox; a result of
/// n or more is permuted again until it is below n (cycle walking; Black and Rogaway, "Ciphers with arbitrary
/// finite domains", CT-RSA 2002). Constant memory; fewer than two walks per value on average.
class Permutation {
 public:
  /// `num_values` from 1 to 2^62.
  Permutation(uint64_t num_values, uint64_t seed, std::initializer_list<uint64_t> address);

  /// The value at `index`; both are below num_values.
  uint64_t operator()(uint64_t index) const;

 private:
  uint64_t permute_block(uint64_t value) const;

  uint64_t num_values_;
  int low_bits_ = 0;   // of a block's lower part
  int high_bits_ = 0;  // of its upper part: the same number, or one more
  PhiloxKey key_{};
};

}  // namespace cohort
