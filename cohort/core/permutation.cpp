#include "cohort/core/permutation.h"

#include <bit>
#include <utility>

#include "cohort/core/error.h"

namespace cohort {
namespace {

// Small blocks mix slowly: with this many rounds the first of 8 values is uniform to within a test's noise.
constexpr uint32_t kRounds = 12;

uint64_t mask(int bits) { return (uint64_t{1} << bits) - 1; }

}  // namespace

Permutation::Permutation(uint64_t num_values, uint64_t seed, std::initializer_list<uint64_t> address)
    : num_values_(num_values) {
  COHORT_CHECK(num_values > 0 && num_values <= uint64_t{1} << 62);
  const int bits = std::bit_width(num_values - 1);
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  const uint64_t key = random_bits(seed, address);
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
}

/// The halves take turns; each round changes one by the other, and so can be undone.
uint64_t Permutation::permute_block(uint64_t value) const {
  uint64_t left = value >> low_bits_, right = value & mask(low_bits_);
  int left_bits = high_bits_, right_bits = low_bits_;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const PhiloxCounter noise = philox4x32_10({static_cast<uint32_t>(right), round, 0, 0}, key_);
    const uint64_t mixed = left ^ (noise[0] & mask(left_bits));
    left = std::exchange(right, mixed);
    std::swap(left_bits, right_bits);
  }
  return left << right_bits | right;
}

uint64_t Permutation::operator()(uint64_t index) const {
  COHORT_CHECK(index < num_values_);
  uint64_t value = index;
  do {
    value = permute_block(value);
  } while (value >= num_values_);
  return value;
}

}  // namespace cohort
