// The shuffled source: every prompt once an epoch, a fresh order each, and exact continuation.
#include "cohort/tasks/shuffled_source.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cohort {
namespace {

std::vector<Prompt> make_prompts(int64_t count) {
  std::vector<Prompt> prompts(count);
  for (int64_t i = 0; i < count; ++i) prompts[i].id = str(i);
  return prompts;
}

std::vector<std::string> take_ids(PromptSource& source, int64_t count) {
  std::vector<std::string> ids;
  for (const Prompt& prompt : source.next(count)) ids.push_back(prompt.id);
  return ids;
}

std::vector<std::string> sorted(std::vector<std::string> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST(ShuffledSource, EveryEpochIsAnotherPermutation) {
  ShuffledSource source(make_prompts(50), 1);
  std::vector<std::string> first = take_ids(source, 50);
  std::vector<std::string> second = take_ids(source, 50);
  std::vector<std::string> all;
  for (const Prompt& prompt : make_prompts(50)) all.push_back(prompt.id);
  EXPECT_EQ(sorted(first), sorted(all));
  EXPECT_EQ(sorted(second), sorted(all));
  EXPECT_NE(first, all);
  EXPECT_NE(first, second);
}

TEST(ShuffledSource, OrderDependsOnTheSeedAndNotOnTheBatchSize) {
  ShuffledSource one(make_prompts(20), 1), other(make_prompts(20), 2), small_batches(make_prompts(20), 1);
  std::vector<std::string> ids = take_ids(one, 45);
  EXPECT_NE(take_ids(other, 45), ids);
  std::vector<std::string> joined;
  for (int i = 0; i < 15; ++i) {
    for (const std::string& id : take_ids(small_batches, 3)) joined.push_back(id);
  }
  EXPECT_EQ(joined, ids);
}

TEST(ShuffledSource, FirstPromptIsUniform) {
  // 8 prompts, 4000 seeds: 500 expected each; 5 standard deviations are 105.
  std::vector<int64_t> counts(8);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    ShuffledSource source(make_prompts(8), seed);
    ++counts[std::stoll(take_ids(source, 1)[0])];
  }
  for (int64_t count : counts) EXPECT_NEAR(count, 500, 105);
}

TEST(ShuffledSource, ContinuesExactlyFromAnyPoint) {
  for (int64_t consumed : {0, 3, 10, 14, 20}) {
    ShuffledSource source(make_prompts(10), 4);
    source.next(consumed);
    Json state = Json::parse(source.save().dump());
    std::vector<std::string> rest = take_ids(source, 25);
    ShuffledSource resumed(make_prompts(10), 4);
    resumed.next(7);
    resumed.load(state);
    EXPECT_DOUBLE_EQ(resumed.epoch(), static_cast<double>(consumed) / 10);
    EXPECT_EQ(take_ids(resumed, 25), rest);
  }
}

TEST(ShuffledSource, EpochCountsWithItsFraction) {
  ShuffledSource source(make_prompts(4), 1);
  EXPECT_EQ(source.epoch(), 0.0);
  source.next(6);
  EXPECT_EQ(source.epoch(), 1.5);
}

TEST(ShuffledSource, RefusesAStateThatIsNotItsOwn) {
  ShuffledSource source(make_prompts(10), 4);
  source.next(3);
  std::vector<std::string> expected = take_ids(source, 7);
  Json state = source.save();
  EXPECT_THROW(ShuffledSource(make_prompts(11), 4).load(state), FormatError);
  EXPECT_THROW(ShuffledSource(make_prompts(10), 5).load(state), FormatError);
  for (const char* bad : {R"([])", R"({})", R"({"seed":4,"num_prompts":10,"epoch":0})",
                          R"({"seed":4,"num_prompts":10,"epoch":0,"position":11})",
                          R"({"seed":4,"num_prompts":10,"epoch":-1,"position":1})",
                          R"({"seed":4,"num_prompts":10,"epoch":0.5,"position":1})"}) {
    EXPECT_THROW(source.load(Json::parse(bad)), FormatError) << bad;
  }
  EXPECT_THROW(ShuffledSource({}, 1), ConfigError);
}

}  // namespace
}  // namespace cohort
