// Collective calls of processes, which are threads here.
#include "cohort/dist/group.h"

#include <gtest/gtest.h>

#include <csignal>

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

TEST_P(GroupTest, CallsOfAProcessThatHasLeftThrow) {
  for_each_rank(GetParam(), [](Group& group) {
    group.barrier("a test");
    group.leave(/*by_error=*/false);
    if (group.size() == 1) {
      EXPECT_TRUE(group.all_true(true, "a later test"));
    } else {
      EXPECT_THROW(group.barrier("a later test"), RankLost);
    }
  });
}

TEST(GroupStartTest, AWriteToALostProcessDoesNotEndTheOther) {
  signal(SIGPIPE, SIG_DFL);
  for_each_rank(2, [](Group& group) {
    raise(SIGPIPE);
    EXPECT_TRUE(group.all_true(true, "a test"));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, GroupTest, testing::Values(1, 2, 5));

TEST(GroupStartTest, ACallMayWaitLongerThanTheStart) {
  const int64_t port = free_port();
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([rank, port] {
      Group group(place(rank, 2, port), {.to_meet_s = 2.0});
      if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(4));
      EXPECT_TRUE(group.all_true(true, "a test"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(GroupStartTest, APortThatIsTakenIsNamed) {
  const int64_t port = free_port();
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  try {
    Group(place(0, 2, port), {.to_meet_s = 1.0});
    FAIL();
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("rank 0 of 2 can't serve the others at 127.0.0.1:")) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  close(taken);
}

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
    EXPECT_TRUE(std::string(error.what()).starts_with("rank 1 of 2 can't join the others at 127.0.0.1:"))
        << error.what();
  }
}

}  // namespace
}  // namespace cohort::dist
