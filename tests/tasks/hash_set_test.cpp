#include "cohort/tasks/hash_set.h"

#include <gtest/gtest.h>

#include <set>

#include "libs/common/random.h"

namespace cohort {
namespace {

TEST(HashSet, HoldsWhatWasInserted) {
  HashSet set;
  std::set<uint64_t> expected;
  for (uint64_t i = 0; i < 100000; ++i) {
    const uint64_t hash = random_bits(1, {i % 70000});
    ASSERT_EQ(set.insert(hash), expected.insert(hash).second) << i;
  }
  EXPECT_EQ(set.size(), 70000);
}

TEST(HashSet, NeighboursAndZeroAreHashesToo) {
  HashSet set;
  for (uint64_t hash : {uint64_t{0}, uint64_t{1024}, uint64_t{2048}, ~uint64_t{0}}) {
    EXPECT_TRUE(set.insert(hash));
    EXPECT_FALSE(set.insert(hash));
  }
  EXPECT_EQ(set.size(), 4);
}

}  // namespace
}  // namespace cohort
