// Credit over the turns of episodes, from the rewards that an environment gives and the states before the
// turns.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/objectives/presets.h"
#include "cohort/rewards/reward.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/step_metrics.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

struct Turn {
  int64_t state = 0;
  double reward = kNoReward;
  int64_t length = 2;
};

/// An episode whose turns have replies of three tokens between them.
Completion episode_of(const std::vector<Turn>& turns, double judgement = 0.0) {
  Completion completion;
  EpisodeRecord record{.num_turns = std::ssize(turns)};
  for (int32_t k = 0; k < std::ssize(turns); ++k) {
    for (int64_t i = 0; k > 0 && i < 3; ++i) completion.append(9, TokenOrigin::kInjected, k);
    for (int64_t i = 0; i < turns[k].length; ++i) completion.append(7, TokenOrigin::kSampled, k);
    record.turn_states.push_back(turns[k].state);
    if (!std::isnan(turns[k].reward))
      record.turn_rewards.push_back({std::ssize(completion.token_ids), turns[k].reward});
  }
  record.reward = ok(judgement);
  completion.sampler_logprobs.assign(completion.num_sampled(), -1.0f);
  completion.episode = std::move(record);
  return completion;
}

RewardResult environment_score(const Completion& completion) {
  return make_reward({.name = "environment"})->score({}, completion);
}

/// A group of episodes, scored by the environment and, with weight 2, by a judge of whole completions.
Batch batch_of_episodes(const std::vector<Completion>& episodes, const std::vector<double>& judged) {
  Batch batch;
  batch.reward_names = {"environment", "judge"};
  batch.reward_weights = {1.0, 2.0};
  batch.gives_steps = {1, 0};
  std::vector<Sample>& samples = batch.groups.emplace_back().samples;
  for (size_t i = 0; i < episodes.size(); ++i) {
    samples.emplace_back().completion = episodes[i];
    samples.back().completion.sample = static_cast<int64_t>(i);
    samples.back().rewards = {environment_score(episodes[i]), ok(judged[i])};
  }
  add_up_rewards(batch);
  return batch;
}

AdvantageConfig config_of(const char* credit) {
  AdvantageConfig config;
  config.credit = credit;
  config.scale_rewards = "none";
  config.gamma = 0.5;
  return config;
}

void expect_tokens(const Sample& sample, const std::vector<double>& expected) {
  ASSERT_EQ(sample.token_advantages.size(), expected.size());
  for (size_t t = 0; t < expected.size(); ++t)
    EXPECT_NEAR(sample.token_advantages[t], expected[t], 1e-6) << t;
}

TEST(TurnCredit, TheEnvironmentsRewardIsTheSumOfItsSteps) {
  const Completion completion = episode_of({{0, 0.5}, {0}, {0, 0.25}}, 1.0);
  const RewardResult result = environment_score(completion);
  EXPECT_EQ(result.score, 1.75);
  ASSERT_EQ(result.steps.size(), 3u);
  EXPECT_EQ(result.steps[0].end, 2);
  EXPECT_EQ(result.steps[1].end, 12);
  EXPECT_EQ(result.steps[1].score, 0.25);
  EXPECT_EQ(result.steps[2].end, 12);
  EXPECT_EQ(result.steps[2].score, 1.0);
  EXPECT_TRUE(make_reward({.name = "environment"})->gives_steps());
  Completion unjudged = completion;
  unjudged.episode->reward.reset();
  EXPECT_EQ(environment_score(unjudged).status, RewardStatus::kSkipped);
  unjudged.episode.reset();
  EXPECT_EQ(environment_score(unjudged).status, RewardStatus::kError);
  // The order of rewards does not change their sum.
  EXPECT_EQ(environment_score(episode_of({{0, 0.1}, {0, 0.2}, {0, 0.3}})).score,
            environment_score(episode_of({{0, 0.3}, {0, 0.2}, {0, 0.1}})).score);
}

// Turns of two tokens. Steps: 1 at the first turn's end and 0 at the end; 0.5 at the end. Mean 0.5.
TEST(TurnCredit, StepsAreTurns) {
  Batch batch = batch_of_episodes({episode_of({{0, 1.0}, {0}}), episode_of({{0}}, 0.5)}, {0, 0});
  AdvantageConfig config = config_of("segments");
  config.gamma = 1.0;
  assign_credit(batch, config);
  expect_tokens(batch.groups[0].samples[0], {0.5, 0.5, -0.5, -0.5});
  expect_tokens(batch.groups[0].samples[1], {0, 0});
  config.credit = "steps";
  assign_credit(batch, config);
  expect_tokens(batch.groups[0].samples[0], {0, 0, -0.5, -0.5});
}

// Episodes from state 5: 5 -> 6 with rewards 0, 1, and 5 -> 8 with rewards 0, 0. The judge gives the second
// 0.25, with weight 2 an 0.5 at its last turn. Returns with gamma 0.5: 0.5, 1 and 0.25, 0.5.
TEST(TurnCredit, GiGpoComparesTurnsFromOneState) {
  const std::vector<Completion> episodes = {episode_of({{5}, {6, 1.0, 1}}),
                                            episode_of({{5, kNoReward, 3}, {8}})};
  Batch batch = batch_of_episodes(episodes, {0, 0.25});
  AdvantageConfig config = config_of("gigpo");
  config.gigpo_omega = 0.5;
  assign_credit(batch, config);
  // Episodes 1 and 0.5: A^E = 0.25. State 5: 0.5 and 0.25, A^S = 0.125.
  const double both = 0.25 + 0.5 * 0.125;
  expect_tokens(batch.groups[0].samples[0], {both, both, 0.25});
  expect_tokens(batch.groups[0].samples[1], {-both, -both, -both, -0.25, -0.25});
  EXPECT_FALSE(batch.groups[0].has_no_difference);
  config.gigpo_omega = 0.0;
  assign_credit(batch, config);
  expect_tokens(batch.groups[0].samples[0], {0.25, 0.25, 0.25});
}

// The same: V(5) = 0.375, V(6) = 1, V(8) = 0.5. Deltas 0 + 0.5 - 0.375 = 0.125, 0 and 0.25 - 0.375 = -0.125,
// 0.
TEST(TurnCredit, GagpoEstimatesOverStates) {
  Batch batch = batch_of_episodes({episode_of({{5}, {6, 1.0}}), episode_of({{5}, {8}})}, {0, 0.25});
  AdvantageConfig config = config_of("turns");
  config.baseline = "state_group";
  assign_credit(batch, config);
  expect_tokens(batch.groups[0].samples[0], {0.125, 0.125, 0, 0});
  expect_tokens(batch.groups[0].samples[1], {-0.125, -0.125, 0, 0});
}

TEST(TurnCredit, MetricsSayHowManyTurnsHaveOthersToCompareWith) {
  Batch batch = batch_of_episodes({episode_of({{5}, {6}, {5}}), episode_of({{7}})}, {0, 0});
  const auto shared = [&] {
    for (const auto& [name, value] : episode_metrics(batch.groups)) {
      if (name == "episodes/shared_states") return value;
    }
    return -1.0;
  };
  EXPECT_EQ(shared(), 0.5);
  batch.groups.push_back(batch.groups[0]);  // whose states are its own
  EXPECT_EQ(shared(), 0.5);
  for_each_sample(batch.groups, [](Sample& sample) { sample.completion.episode->turn_states.clear(); });
  EXPECT_TRUE(std::isnan(shared()));
}

TEST(TurnCredit, AMaskedEpisodeTakesNoPart) {
  Batch batch =
      batch_of_episodes({episode_of({{5, 1.0}}), episode_of({{5, 0.0}}), episode_of({{5, 9.0}})}, {0, 0, 0});
  Sample& failed = batch.groups[0].samples[2];
  failed.completion.episode->turn_states.clear();  // as an environment that failed leaves it
  failed.rewards[0] = cohort::failed(RewardStatus::kError);
  failed.reward = kNoReward;
  assign_credit(batch, config_of("gigpo"));
  expect_tokens(batch.groups[0].samples[0], {1, 1});
  expect_tokens(batch.groups[0].samples[1], {-1, -1});
  expect_tokens(failed, {0, 0});
}

TEST(TurnCredit, EpisodesWithoutStatesAreRefused) {
  Batch batch = batch_of_episodes({episode_of({{5, 1.0}}), episode_of({{5, 0.0}})}, {0, 0});
  batch.groups[0].samples[0].completion.episode->turn_states.clear();
  EXPECT_THROW(assign_credit(batch, config_of("gigpo")), ConfigError);
}

}  // namespace
}  // namespace cohort
