// Pages and their holders, and the pages of texts that are known.
#include "cohort/sampler/prefix_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/sampler/block_manager.h"

namespace cohort {
namespace {

TEST(BlockManager, CountsHolders) {
  BlockManager blocks(2);
  const int64_t first = blocks.allocate(), second = blocks.allocate();
  EXPECT_NE(first, second);
  EXPECT_EQ(blocks.num_free(), 0);
  EXPECT_THROW(blocks.allocate(), InternalError);
  blocks.share(first);
  EXPECT_EQ(blocks.num_holders(first), 2);
  blocks.release(first);
  EXPECT_EQ(blocks.num_free(), 0);
  blocks.release(first);
  EXPECT_EQ(blocks.num_free(), 1);
  EXPECT_THROW(blocks.release(first), InternalError);
  EXPECT_THROW(blocks.share(first), InternalError);
  EXPECT_EQ(blocks.allocate(), first);
}

std::vector<int32_t> text_of(int64_t num_pages, int32_t last) {
  std::vector<int32_t> text(num_pages * kPageRows, 5);
  text.back() = last;
  return text;
}

TEST(PrefixCache, FindsTheLongestBeginning) {
  BlockManager blocks(10);
  PrefixCache cache(blocks);
  const std::vector<int64_t> pages{blocks.allocate(), blocks.allocate(), blocks.allocate()};
  cache.insert(text_of(3, 1), pages);
  EXPECT_EQ(cache.size(), 3);
  EXPECT_EQ(cache.take(text_of(3, 1)), pages);
  EXPECT_EQ(blocks.num_holders(pages[2]), 3);
  EXPECT_EQ(cache.take(text_of(3, 2)), (std::vector<int64_t>{pages[0], pages[1]}));
  std::vector<int32_t> longer = text_of(3, 1);
  longer.resize(60, 9);
  EXPECT_EQ(cache.take(longer), pages);
  EXPECT_TRUE(cache.take(std::vector<int32_t>(40, 6)).empty());
  EXPECT_TRUE(cache.take(std::vector<int32_t>(15, 5)).empty());
  cache.clear();
  EXPECT_EQ(cache.size(), 0);
  EXPECT_TRUE(cache.take(text_of(3, 1)).empty());
  EXPECT_EQ(blocks.num_holders(pages[0]), 4) << "the holders keep their pages";
}

TEST(PrefixCache, GivesUpWhatWasNotUsedForLongest) {
  BlockManager blocks(10);
  PrefixCache cache(blocks);
  const auto insert = [&](int32_t last) {
    std::vector<int64_t> pages = cache.take(text_of(2, last));
    while (pages.size() < 2) pages.push_back(blocks.allocate());
    cache.insert(text_of(2, last), pages);
    for (const int64_t page : pages) blocks.release(page);
  };
  insert(1);
  insert(2);  // its first page is known
  EXPECT_EQ(cache.size(), 3);
  EXPECT_EQ(blocks.num_free(), 7);
  const std::vector<int64_t> used = cache.take(text_of(2, 1));
  ASSERT_EQ(used.size(), 2u);
  EXPECT_TRUE(cache.evict_one());
  EXPECT_EQ(cache.take(text_of(2, 2)).size(), 1u) << "the second text was not used for longest";
  blocks.release(used[0]);
  EXPECT_FALSE(cache.evict_one()) << "somebody holds the first text";
  for (const int64_t page : used) blocks.release(page);
  EXPECT_TRUE(cache.evict_one());
  EXPECT_TRUE(cache.evict_one());
  EXPECT_FALSE(cache.evict_one());
  EXPECT_EQ(blocks.num_free(), 10);
}

}  // namespace
}  // namespace cohort
