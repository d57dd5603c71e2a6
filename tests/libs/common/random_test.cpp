#include "libs/common/random.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "libs/common/check.h"

namespace cohort {
namespace {

// The three vectors of Random123's kat_vectors file for "philox4x32 10".
TEST(Philox, AgreesWithRandom123) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBits, AbsorbWordByWordUnderTheSeedAsKey) {
  const uint64_t seed = 0x1111222233334444, first = 0x5555666677778888, second = 0x9999aaaabbbbcccc;
  const PhiloxKey key{0x33334444, 0x11112222};
  const PhiloxCounter one = philox4x32_10({0x77778888, 0x55556666, 1, 0}, key);
  EXPECT_EQ(random_bits(seed, {first}), uint64_t{one[1]} << 32 | one[0]);
  PhiloxCounter two = philox4x32_10({0x77778888, 0x55556666, 2, 0}, key);
  two = philox4x32_10({two[0] ^ 0xbbbbcccc, two[1] ^ 0x9999aaaa, two[2], two[3]}, key);
  EXPECT_EQ(random_bits(seed, {first, second}), uint64_t{two[1]} << 32 | two[0]);
}

TEST(RandomBits, DifferForEveryAddressAndSeed) {
  std::set<uint64_t> seen;
  int64_t count = 0;
  for (uint64_t seed : {0, 1}) {
    for (uint64_t a = 0; a < 20; ++a) {
      seen.insert(random_bits(seed, {a}));
      seen.insert(random_bits(seed, {a << 32}));
      for (uint64_t b = 0; b < 20; ++b) {
        seen.insert(random_bits(seed, {a, b}));
        seen.insert(random_bits(seed, {a, b, 0}));
        seen.insert(random_bits(seed, {0, a, b, 7, 9}));
        count += 3;
      }
      count += 2;
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(count - 2));  // a << 32 is a for a = 0, once a seed
  EXPECT_THROW(random_bits(0, {}), InternalError);
}

TEST(RandomUnit, IsTheTop53BitsAndUniform) {
  double sum = 0.0, sum_of_squares = 0.0;
  constexpr int kCount = 20000;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double unit = random_unit(3, {i, 5});
    ASSERT_EQ(unit, static_cast<double>(random_bits(3, {i, 5}) / 2048) / 9007199254740992.0);
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    sum += unit;
    sum_of_squares += unit * unit;
  }
  // Five standard errors: 5 * sqrt(1/12 / 20000) and 5 * sqrt(4/45 / 20000).
  EXPECT_NEAR(sum / kCount, 0.5, 0.0103);
  EXPECT_NEAR(sum_of_squares / kCount, 1.0 / 3.0, 0.0106);
}

TEST(CounterRng, YieldsTheAddressesUnderItsPrefix) {
  CounterRng rng(9, {4, 2});
  EXPECT_EQ(rng.next_u64(), random_bits(9, {4, 2, 0}));
  EXPECT_EQ(rng.next_unit(), random_unit(9, {4, 2, 1}));
  EXPECT_EQ(CounterRng(9).next_u64(), random_bits(9, {0}));
}

TEST(CounterRng, BelowIsUniform) {
  CounterRng rng(1);
  std::vector<int> counts(6);
  for (int i = 0; i < 12000; ++i) ++counts.at(rng.below(6));
  double chi_square = 0.0;
  for (int count : counts) chi_square += (count - 2000.0) * (count - 2000.0) / 2000.0;
  EXPECT_LT(chi_square, 25.7);  // the 0.9999 quantile with 5 degrees of freedom
  EXPECT_EQ(rng.below(1), 0u);
  EXPECT_THROW(rng.below(0), InternalError);
}

// With bound 2^63 + 1 nearly half of all draws must be rejected; `bits % bound` alone would give each small
// result twice.
TEST(CounterRng, BelowRejectsWhatWouldBias) {
  const uint64_t bound = (uint64_t{1} << 63) + 1;
  CounterRng rng(1);
  int num_small = 0;
  for (int i = 0; i < 4000; ++i) num_small += rng.below(bound) < bound / 2;
  EXPECT_NEAR(num_small, 2000,
              5 * 32);  // five standard deviations; without rejection half of the draws repeat
  CounterRng draws(1), bounded(1);
  uint64_t first_kept = draws.next_u64();
  while (first_kept < -bound % bound) first_kept = draws.next_u64();
  EXPECT_EQ(bounded.below(bound), first_kept % bound);
}

}  // namespace
}  // namespace cohort
