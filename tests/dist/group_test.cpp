// Collective calls of processes, which are threads here.
#include "cohort/dist/group.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/dist/ranks.h"

namespace cohort::dist {
namespace {

class GroupTest : public testing::TestWithParam<int64_t> {};

TEST_P(GroupTest, BytesOfAllRanksInTheirOrder) {
  for_each_rank(GetParam(), [](Group& group) {
    // Of other lengths, one of them empty, and with zeros.
    const std::string own = std::string(group.rank(), '\0') + std::string(group.rank(), 'x');
    const std::vector<std::string> all = group.all_gather(own, "a test");
    ASSERT_EQ(std::ssize(all), group.size());
    for (int64_t rank = 0; rank < group.size(); ++rank)
      EXPECT_EQ(all[rank], std::string(rank, '\0') + std::string(rank, 'x'));
    EXPECT_EQ(group.all_gather(std::string(), "a test"), std::vector<std::string>(group.size()));
  });
}

TEST_P(GroupTest, TheFirstRanksBytesReachAll) {
  for_each_rank(GetParam(), [](Group& group) {
    EXPECT_EQ(group.broadcast(group.is_first() ? "of the first" : "other", "a test"), "of the first");
    EXPECT_EQ(group.broadcast(group.is_first() ? "" : "other", "a test"), "");
    EXPECT_EQ(group.num_local(), group.size());
  });
}

TEST_P(GroupTest, AllMustAgree) {
  for_each_rank(GetParam(), [](Group& group) {
    EXPECT_TRUE(group.all_true(true, "a test"));
    EXPECT_FALSE(group.all_true(group.rank() != group.size() - 1, "a test"));
  });
}

TEST_P(GroupTest, RowsAreExchangedAndGathered) {
  for_each_rank(GetParam(), [](Group& group) {
    const int64_t size = group.size();
    const at::Tensor sent =
        (at::arange(size) * 10 + 1000 * group.rank()).unsqueeze(1).repeat({1, 3}).contiguous();
    const at::Tensor received = group.exchange(sent, "a test");
    for (int64_t from = 0; from < size; ++from)
      EXPECT_EQ(received[from][2].item<int64_t>(), 10 * group.rank() + 1000 * from);
    const at::Tensor all = group.all_gather(at::full({2}, static_cast<double>(group.rank())), "a test");
    EXPECT_TRUE(all.equal(at::arange(size, at::kDouble).unsqueeze(1).repeat({1, 2}).to(all.dtype())));
    EXPECT_EQ(group.num_sent_bytes(), (size - 1) * (3 * 8 + 2 * 4));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, GroupTest, testing::Values(1, 2, 5));

TEST(GroupStartTest, ProcessesThatDoNotComeAreNamed) {
  try {
    Group(place(0, 4, free_port()), {.to_meet_s = 0.3});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_TRUE(
        std::string(error.what())
            .starts_with(
                "of 4 processes these have not come within 0.3 s: rank 1, 2, 3; rank 0 waited at 127.0.0.1:"))
        << error.what();
  }
}

TEST(GroupStartTest, AnAddressThatNobodyServesIsNamed) {
  try {
    Group(place(1, 2, free_port()), {.to_meet_s = 0.3});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("rank 1 of 2 can't reach rank 0 at 127.0.0.1:"))
        << error.what();
  }
}

}  // namespace
}  // namespace cohort::dist
