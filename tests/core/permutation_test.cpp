// The addressed permutation: one to one for every size, different for every address, without bias that shows.
#include "cohort/core/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cohort {
namespace {

std::vector<uint64_t> values_of(const Permutation& permutation, uint64_t count) {
  std::vector<uint64_t> values(count);
  for (uint64_t i = 0; i < count; ++i) values[i] = permutation(i);
  return values;
}

void expect_bijection(uint64_t count, uint64_t seed) {
  std::vector<uint64_t> values = values_of(Permutation(count, seed, {seed}), count);
  std::sort(values.begin(), values.end());
  for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(values[i], i) << "of " << count;
}

TEST(Permutation, IsOneToOneForEverySize) {
  for (uint64_t count = 1; count <= 700; ++count) expect_bijection(count, count);
  for (uint64_t count : {1023, 1024, 1025, 4095, 4097, 10007, 65535, 65536, 65537})
    expect_bijection(count, 1);
}

TEST(Permutation, TakesTheLargestSizes) {
  const uint64_t count = uint64_t{1} << 62;
  const Permutation permutation(count, 3, {1}), shorter(count - 12345, 3, {1});
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_LT(permutation(count - 1 - i), count);
    EXPECT_LT(shorter(i), count - 12345);
  }
}

TEST(Permutation, DependsOnSeedAndEveryWordOfTheAddress) {
  const auto values = [](uint64_t seed, std::initializer_list<uint64_t> address) {
    return values_of(Permutation(50, seed, address), 50);
  };
  EXPECT_EQ(values(1, {2, 3}), values(1, {2, 3}));
  EXPECT_NE(values(1, {2, 3}), values(2, {2, 3}));
  EXPECT_NE(values(1, {2, 3}), values(1, {2, 4}));
  EXPECT_NE(values(1, {2, 3}), values(1, {1, 3}));
}

/// Of 24 orders of 4 values, and of the 8 x 8 places of 8 values, each comes as often as any other:
/// chi-square with 23 and 49 degrees of freedom stays below 60 and 100 (p < 1e-4).
TEST(Permutation, SmallOrdersAreUniform) {
  std::vector<int> orders(256), places(64);
  constexpr int kTrials = 24000;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    const std::vector<uint64_t> four = values_of(Permutation(4, seed, {0}), 4);
    ++orders[four[0] << 6 | four[1] << 4 | four[2] << 2 | four[3]];
    const std::vector<uint64_t> eight = values_of(Permutation(8, seed, {0}), 8);
    for (uint64_t i = 0; i < 8; ++i) ++places[8 * i + eight[i]];
  }
  const auto chi_square = [](const std::vector<int>& counts, double expected) {
    return std::accumulate(counts.begin(), counts.end(), 0.0, [&](double sum, int count) {
      return sum + (count == 0 ? 0.0 : (count - expected) * (count - expected) / expected);
    });
  };
  EXPECT_EQ(std::count_if(orders.begin(), orders.end(), [](int count) { return count > 0; }), 24);
  EXPECT_LT(chi_square(orders, kTrials / 24.0), 60.0);
  EXPECT_LT(chi_square(places, kTrials / 8.0), 100.0);
}

TEST(Permutation, NeighboursArePartedInLargeOrders) {
  // A random order keeps about one pair of neighbours in a row.
  const std::vector<uint64_t> values = values_of(Permutation(100000, 7, {0}), 100000);
  int64_t num_neighbours = 0;
  for (size_t i = 1; i < values.size(); ++i) num_neighbours += values[i] == values[i - 1] + 1;
  EXPECT_LT(num_neighbours, 10);
}

}  // namespace
}  // namespace cohort
