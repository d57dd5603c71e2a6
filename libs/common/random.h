// Addressed randomness: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011). A draw is a pure function of a seed and an address such as (step, prompt, sample, position), so it
// does not depend on the schedule, the batch or a restart.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace cohort {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Ten rounds of Philox4x32: a bijection of the counter for every key.
PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key);

/// 64 uniform bits. The seed is the key; the words are absorbed one per block into the 128-bit counter, which
/// starts from their number. So one-word addresses never share a block; longer ones do with probability
/// 2^-128 per pair.
uint64_t random_bits(uint64_t seed, std::initializer_list<uint64_t> address);

/// A multiple of 2^-53 in [0, 1).
double random_unit(uint64_t seed, std::initializer_list<uint64_t> address);

/// The draws at `prefix` followed by 0, 1, 2, ...: `CounterRng(s, {a, b})` yields random_bits(s, {a, b, 0})
/// first.
class CounterRng {
 public:
  explicit CounterRng(uint64_t seed, std::initializer_list<uint64_t> prefix = {});

  uint64_t next_u64();

  /// A multiple of 2^-53 in [0, 1).
  double next_unit();

  /// Uniform in 0 .. bound - 1, without bias; `bound` must be positive. May take more than one draw.
  uint64_t below(uint64_t bound);

 private:
  PhiloxKey key_;
  PhiloxCounter prefix_state_;
  uint64_t index_ = 0;
};

}  // namespace cohort
