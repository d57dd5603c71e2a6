// Which calls are drawn anew, and the advantages of their tokens by hand.
#include "cohort/train/grpo/rerolls.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/train/grpo/credit.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

/// Calls begin with the tokens 5 6; a turn ends with token 0.
class Marks : public TurnHandler {
 public:
  Openings begin(RolloutStart) override { return {}; }
  void end_turn(Engine&, RequestId, int64_t, int64_t, const Completion&) override {}
  bool take_replies(Engine&, bool) override { return false; }
  std::optional<CallPlace> first_call(const Completion& completion) const override {
    const std::vector<int32_t>& ids = completion.token_ids;
    const auto mark = std::ranges::find(ids, 5);
    if (mark == ids.end()) return std::nullopt;
    const int64_t first = mark - ids.begin();
    const int64_t stop = std::ranges::find(mark, ids.end(), 0) - ids.begin();
    return CallPlace{first, first + 2, std::min(stop + 1, std::ssize(ids))};
  }
};

/// A sample of one turn whose tokens all have probability `probability`, or that of `thinking` before a call.
Sample episode(const std::vector<int32_t>& ids, double reward, double probability) {
  Sample sample = sample_of({ok(reward)}, std::ssize(ids));
  sample.reward = reward;
  sample.completion.token_ids = ids;
  const auto call = std::ranges::find(ids, 5) - ids.begin();
  const auto value = static_cast<float>(std::log(probability));
  std::fill(sample.completion.sampler_logprobs.begin() + call, sample.completion.sampler_logprobs.end(),
            value);
  sample.completion.episode = EpisodeRecord{.num_calls = call < std::ssize(ids) ? 1 : 0};
  return sample;
}

RolloutConfig config_of(int64_t prompts, int64_t generations) {
  RolloutConfig config;
  config.prompts_per_step = prompts;
  config.num_generations = generations;
  config.num_rerolls = 2;
  config.max_reroll_share = 0.5;
  return config;
}

Batch batch_with(std::vector<std::vector<Sample>> groups) {
  Batch batch;
  batch.reward_names = {"mine"};
  batch.reward_weights = {1.0};
  batch.gives_steps = {0};
  for (std::vector<Sample>& samples : groups) {
    Group& group = batch.groups.emplace_back();
    group.prompt.id = std::to_string(batch.groups.size());
    group.prompt.token_ids = {9, 9};
    group.samples = std::move(samples);
    for (size_t i = 0; i < group.samples.size(); ++i)
      group.samples[i].completion.sample = static_cast<int64_t>(i);
  }
  return batch;
}

const std::vector<int32_t> kCall{1, 5, 6, 2, 0}, kLateCall{1, 1, 5, 6, 2, 0}, kAnswer{3, 0};

TEST(Rerolls, TheLeastCertainCallsOfWrongSubgroupsAreChosen) {
  const Batch batch = batch_with({
      {episode(kCall, 0, 0.9), episode(kAnswer, 1, 0.1), episode(kCall, 0, 0.4), episode(kLateCall, 0, 0.2)},
      {episode(kCall, 0, 0.1), episode(kCall, 1, 0.1), episode(kAnswer, 0, 0.1), episode(kAnswer, 0, 0.1)},
      {episode(kAnswer, 0, 0.1), episode(kAnswer, 0, 0.1), episode(kAnswer, 0, 0.1),
       episode(kAnswer, 0, 0.1)},
      {episode(kAnswer, 1, 0.1), episode(kCall, 0, 0.3), episode(kAnswer, 1, 0.1), episode(kAnswer, 1, 0.1)},
  });
  RolloutConfig config = config_of(4, 4);
  config.max_reroll_share = 0.44;  // of 16 completions: 7 re-rolls, so 3 calls
  const Rerolls rerolls = choose_rerolls(batch.groups, Marks(), config);
  EXPECT_EQ(rerolls.num_wrong_groups, 2);
  ASSERT_EQ(rerolls.calls.size(), 3u);
  const int64_t groups[] = {0, 0, 3}, samples[] = {3, 2, 1}, frozen[] = {4, 3, 3};
  const uint64_t first[] = {4, 6, 4};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rerolls.calls[i].group, groups[i]);
    EXPECT_EQ(rerolls.calls[i].sample, samples[i]);
    EXPECT_EQ(rerolls.calls[i].num_frozen, frozen[i]);
    EXPECT_EQ(rerolls.first_samples[i], first[i]);
    EXPECT_EQ(rerolls.prompts[i].token_ids, (std::vector<int32_t>{9, 9}));
  }
  EXPECT_EQ(rerolls.prompts[0].turn_ids, (std::vector<int32_t>{1, 1, 5, 6}));
  EXPECT_EQ(rerolls.prompts[1].turn_ids, (std::vector<int32_t>{1, 5, 6}));
}

TEST(Rerolls, FailedEpisodesAndEmptyCallsAreNoCandidates) {
  Batch batch = batch_with({{episode(kCall, 0, 0.5), episode(kCall, 0, 0.5), episode({1, 5, 6}, 0, 0.5)}});
  batch.groups[0].samples[1].reward = kNoReward;
  const Rerolls rerolls = choose_rerolls(batch.groups, Marks(), config_of(1, 16));
  ASSERT_EQ(rerolls.calls.size(), 1u);
  EXPECT_EQ(rerolls.calls[0].sample, 0);
}

/// A group with rewards 0 1 0 0, whose third sample was drawn anew with rewards 1 0 0.
Batch rerolled(double recovery) {
  Batch batch = batch_with({
      {episode(kCall, 0, 0.5), episode(kAnswer, 1, 0.5), episode(kCall, 0, 0.5), episode(kAnswer, 0, 0.5)},
      {episode({2, 0}, 1, 0.5), episode({2, 0}, 0, 0.5), episode({2, 0}, 0, 0.5)},
  });
  batch.groups[1].rerolls = RerolledCall{.group = 0, .sample = 2, .num_frozen = 3, .recovery = recovery};
  return batch;
}

void expect_tokens(const Sample& sample, const std::vector<double>& expected) {
  ASSERT_EQ(sample.token_advantages.size(), expected.size());
  for (size_t t = 0; t < expected.size(); ++t) EXPECT_NEAR(sample.token_advantages[t], expected[t], 1e-6);
}

TEST(Rerolls, FrozenTokensHaveTheAdvantageOfTheRecovery) {
  AdvantageConfig config;
  config.scale_rewards = "none";
  Batch batch = rerolled(1.0);
  assign_credit(batch, config);
  // Means: 1/4 of 0 1 0 0; 1/2 of 0 1 1 0; 1/3 of 1 0 0.
  const std::vector<Sample>& own = batch.groups[0].samples;
  expect_tokens(own[2], {0.5, 0.5, 0.5, -0.25, -0.25});
  const double others[] = {-0.25, 0.75, -0.25, -0.25};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(own[i].advantage, others[i], 1e-6);
  for (const size_t i : {0, 1, 3}) EXPECT_TRUE(own[i].token_advantages.empty());
  const double again[] = {2.0 / 3, -1.0 / 3, -1.0 / 3};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(batch.groups[1].samples[i].advantage, again[i], 1e-6);
    EXPECT_TRUE(batch.groups[1].samples[i].token_advantages.empty());
  }
  // Without a success the reward 0 stands in its place, which is what it was.
  Batch lost = rerolled(0.0);
  assign_credit(lost, config);
  expect_tokens(lost.groups[0].samples[2], {-0.25, -0.25, -0.25, -0.25, -0.25});
}

TEST(Rerolls, TheRecoveryIsPartOfTheGroupsZScore) {
  AdvantageConfig config;  // GRPO's: by the Bessel-corrected deviation + 1e-4
  Batch batch = rerolled(1.0);
  assign_credit(batch, config);
  const double recovered = 0.5 / (std::sqrt(1.0 / 3) + 1e-4), own = -0.25 / (0.5 + 1e-4);
  expect_tokens(batch.groups[0].samples[2], {recovered, recovered, recovered, own, own});
}

TEST(Rerolls, AreTheLastGroups) {
  const Batch batch = rerolled(1.0);
  EXPECT_EQ(first_groups(batch.groups).size(), 1u);
  EXPECT_EQ(without_rerolls(batch).groups.size(), 1u);
}

}  // namespace
}  // namespace cohort
