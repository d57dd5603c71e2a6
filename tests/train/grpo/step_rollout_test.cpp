// Which completions a step has: always those that lie at their addresses, whatever was drawn before.
#include "cohort/train/grpo/step_rollout.h"

#include <gtest/gtest.h>

#include "cohort/rl/batch_file.h"
#include "cohort/train/grpo/run_sampling.h"
#include "tests/train/tiny_grpo.h"

namespace cohort {
namespace {

std::vector<std::string> ids_of(const std::vector<Group>& groups) {
  std::vector<std::string> ids;
  for (const Group& group : groups) ids.push_back(group.prompt.id);
  return ids;
}

std::vector<int64_t> samples_in(const Group& group) {
  std::vector<int64_t> samples;
  for (const Sample& sample : group.samples) samples.push_back(sample.completion.sample);
  return samples;
}

/// The reward of a sample, which one function judged with weight 1.
double reward_of(const Sample& sample) {
  EXPECT_EQ(sample.rewards.at(0).score, sample.reward);
  return sample.reward;
}

using PromptIds = std::vector<std::string>;
using Samples = std::vector<int64_t>;

class StepRolloutTest : public testing::Test {
 protected:
  StepRolloutTest() {
    config_.seed = 9;
    config_.rollout.prompts_per_step = 3;
    config_.rollout.num_generations = 4;
    config_.rollout.max_completion_length = 5;
    config_.reward = {{.name = "mine"}};
  }

  Batch draw(Score score) {
    CountedPrompts prompts;
    RewardScorer scorer(config_.reward, scored_by(std::move(score)));
    StepRollout rollout(config_, *decoder_, nullptr, prompts, scorer, {recorded_rows_, RecordedParts::kDown});
    timings_.clear();
    StepTimer timer(timings_);
    Batch drawn = rollout.collect(kStep, 0, timer);
    metrics_ = rollout.metrics();
    expect_addressed(drawn);
    std::vector<std::string> names, empty_names;
    for (const auto& [name, value] : metrics_) names.push_back(name);
    for (const auto& [name, value] : rollout.empty_metrics()) empty_names.push_back(name);
    EXPECT_EQ(names, empty_names);
    prompts_drawn_ = prompts.save().get<int64_t>();
    is_recorded_ = rollout.record().holds_for(*decoder_);
    recorded_parts_ = rollout.record().parts();
    has_all_room_ = rollout.record().has_room(recorded_rows_);
    recorded_at_.clear();
    for (const Group& group : drawn.groups) {
      for (const Sample& sample : group.samples) {
        const auto found = rollout.record().find(group.prompt.token_ids, sample.completion.token_ids);
        recorded_at_.push_back(found ? found->completion : -1);
      }
    }
    return drawn;
  }

  /// Each completion is what lies at (seed, step, prompt, sample), and the step's tokens are all counted.
  void expect_addressed(const Batch& drawn) {
    std::vector<Group> groups = drawn.groups;
    int64_t num_tokens = 0;
    for (const UntrainedGroup& other : drawn.untrained) {
      if (other.reason != Untrained::kGreedy) groups.push_back(other.group);
      if (other.reason == Untrained::kGreedy) num_tokens += total_tokens({&other.group, 1});
    }
    for (const Group& group : groups) {
      for (const Sample& sample : group.samples) {
        const Completion& completion = sample.completion;
        const Completion expected = reference(group.prompt, completion.sample, 1.0);
        EXPECT_EQ(completion.token_ids, expected.token_ids) << group.prompt.id << " " << completion.sample;
        EXPECT_EQ(completion.sampler_logprobs, expected.sampler_logprobs);
      }
    }
    EXPECT_EQ(drawn.step, kStep);
    EXPECT_EQ(total_tokens(drawn), num_tokens + total_tokens(groups));
  }

  /// The completion of a prompt that is drawn alone with those before it.
  Completion reference(const Prompt& prompt, int64_t sample, double temperature) {
    Sampler sampler(*decoder_, nullptr, 0);
    SamplingParams params = run_sampling(config_, decoder_->config(), nullptr);
    params.temperature = temperature;
    const RolloutAddress address{9, kStep, static_cast<uint64_t>(std::stoll(prompt.id))};
    return sampler.rollout({prompt}, sample + 1, params, address)[0].samples[sample].completion;
  }

  /// Of the newest step.
  double metric(const std::string& name) const {
    for (const auto& [key, value] : metrics_) {
      if (key == "rollout/" + name) return value;
    }
    ADD_FAILURE() << "no rollout/" << name;
    return -1.0;
  }

  static constexpr int64_t kStep = 7;
  const ThreadCount one_thread_{1};
  const std::unique_ptr<Decoder> decoder_ = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  TrainConfig config_;
  Metrics timings_, metrics_;
  int64_t prompts_drawn_ = 0;
  int64_t recorded_rows_ = 0;
  std::vector<int64_t> recorded_at_;  // the places of the newest batch's completions in the record; -1: none
  bool is_recorded_ = false, has_all_room_ = false;
  RecordedParts recorded_parts_ = RecordedParts::kAll;
};

TEST_F(StepRolloutTest, RecordsItsRolloutsWhileThereIsRoom) {
  constexpr int64_t kRows = 3 * (2 + 4 * 4);  // 3 prompts of 2 tokens, 4 completions of up to 5
  recorded_rows_ = kRows - 1;
  draw([](int64_t, int64_t) { return 0.0; });
  EXPECT_EQ(recorded_at_, std::vector<int64_t>(12, -1));
  EXPECT_TRUE(has_all_room_) << "something was recorded";
  recorded_rows_ = kRows;
  draw([](int64_t, int64_t) { return 0.0; });
  EXPECT_EQ(recorded_at_, (std::vector<int64_t>{2, 6, 10, 14, 20, 24, 28, 32, 38, 42, 46, 50}));
  EXPECT_TRUE(is_recorded_);
  EXPECT_FALSE(has_all_room_);
  EXPECT_EQ(recorded_parts_, RecordedParts::kDown);
  // A second batch, of two prompts, goes behind it.
  config_.rollout.dynamic_sampling = true;
  config_.rollout.max_num_gen_batches = 2;
  for (const int64_t more : {36, 35}) {
    recorded_rows_ = kRows + more;
    const Batch drawn =
        draw([](int64_t prompt, int64_t sample) { return prompt == 1 ? 0.0 : static_cast<double>(sample); });
    ASSERT_EQ(ids_of(drawn.groups), (PromptIds{"0", "2", "3"}));
    std::vector<int64_t> expected{2, 6, 10, 14, 38, 42, 46, 50, 56, 60, 64, 68};
    if (more == 35) std::fill(expected.begin() + 8, expected.end(), -1);
    EXPECT_EQ(recorded_at_, expected);
  }
}

TEST_F(StepRolloutTest, IsAllThatIsDrawnUnlessASettingChooses) {
  const Batch drawn = draw([](int64_t prompt, int64_t sample) { return 10.0 * prompt + sample; });
  EXPECT_EQ(ids_of(drawn.groups), (PromptIds{"0", "1", "2"}));
  EXPECT_EQ(samples_in(drawn.groups[2]), (Samples{0, 1, 2, 3}));
  EXPECT_EQ(reward_of(drawn.groups[2].samples[3]), 23.0);
  EXPECT_EQ(drawn.reward_weights, std::vector<double>{1.0});
  EXPECT_TRUE(drawn.untrained.empty());
  EXPECT_TRUE(metrics_.empty());
}

TEST_F(StepRolloutTest, HasAGreedyCompletionOfEachPromptForItsBaseline) {
  config_.objective.advantages.baseline = "greedy";
  const Batch drawn = draw([](int64_t prompt, int64_t sample) { return 10.0 * prompt + sample; });
  EXPECT_EQ(ids_of(drawn.groups), (PromptIds{"0", "1", "2"}));
  EXPECT_EQ(reward_of(drawn.groups[2].samples[3]), 23.0);
  ASSERT_EQ(drawn.untrained.size(), 3U);
  for (int64_t p = 0; p < 3; ++p) {
    const UntrainedGroup& greedy = drawn.untrained[p];
    EXPECT_EQ(greedy.reason, Untrained::kGreedy);
    EXPECT_EQ(greedy.of, p);
    EXPECT_EQ(samples_in(greedy.group), Samples{-1});
    EXPECT_EQ(greedy.group.samples[0].completion.token_ids, reference(greedy.group.prompt, 0, 0.0).token_ids);
    EXPECT_EQ(reward_of(greedy.group.samples[0]), 10.0 * p);
  }
  EXPECT_EQ(metric("greedy_reward"), 10.0);
}

// Even prompts have no difference. Of three prompts one differs, so that three more are drawn.
TEST_F(StepRolloutTest, ThrowsGroupsWithoutDifferenceAway) {
  config_.rollout.dynamic_sampling = true;
  const Batch drawn = draw([](int64_t prompt, int64_t sample) { return prompt % 2 == 0 ? 1.0 : sample; });
  EXPECT_EQ(prompts_drawn_, 6);
  EXPECT_EQ(ids_of(drawn.groups), (PromptIds{"1", "3", "5"}));
  EXPECT_EQ(drawn.untrained.size(), 3U);
  EXPECT_EQ(metric("prompts"), 6.0);
  EXPECT_EQ(metric("completions"), 24.0);
  EXPECT_EQ(metric("no_difference"), 3.0);
  EXPECT_EQ(metric("surplus"), 0.0);
  EXPECT_EQ(metric("filled"), 0.0);
  EXPECT_EQ(metric("reward"), (3 * 1.0 + 3 * 1.5) / 6.0);
  EXPECT_EQ(timings_.size(), 9U);  // of both batches together
}

TEST_F(StepRolloutTest, DropsWhatDiffersBeyondTheStep) {
  config_.rollout.dynamic_sampling = true;
  config_.rollout.prompts_per_step = 2;
  const Batch drawn = draw([](int64_t prompt, int64_t sample) { return prompt == 0 ? 1.0 : sample; });
  EXPECT_EQ(ids_of(drawn.groups), (PromptIds{"1", "2"}));
  ASSERT_EQ(drawn.untrained.size(), 2U);
  EXPECT_EQ(drawn.untrained[1].reason, Untrained::kSurplus);
  EXPECT_EQ(drawn.untrained[1].group.prompt.id, "3");
  EXPECT_EQ(metric("surplus"), 1.0);
}

TEST_F(StepRolloutTest, FillsTheStepUpWhereBatchesDoNotSuffice) {
  config_.rollout.dynamic_sampling = true;
  config_.rollout.max_num_gen_batches = 2;
  const auto score = [](int64_t prompt, int64_t sample) { return prompt == 4 ? sample : 0.0; };
  const Batch drawn = draw(score);
  EXPECT_EQ(prompts_drawn_, 6);
  EXPECT_EQ(ids_of(drawn.groups), (PromptIds{"0", "1", "4"}));
  EXPECT_EQ(metric("filled"), 2.0);
  EXPECT_EQ(metric("no_difference"), 3.0);
  config_.rollout.max_num_gen_batches = 1;
  EXPECT_EQ(ids_of(draw(score).groups), (PromptIds{"0", "1", "2"}));
}

TEST_F(StepRolloutTest, KeepsTheMostVariedOfEachGroup) {
  config_.rollout.keep_generations = 2;
  const Batch drawn = draw([](int64_t, int64_t sample) { return sample == 2 ? 5.0 : sample; });
  for (const Group& group : drawn.groups) EXPECT_EQ(samples_in(group), (Samples{0, 2}));
  EXPECT_EQ(reward_of(drawn.groups[1].samples[1]), 5.0);
  ASSERT_EQ(drawn.untrained.size(), 3U);
  EXPECT_EQ(samples_in(drawn.untrained[1].group), (Samples{1, 3}));
  EXPECT_EQ(drawn.untrained[1].of, -1);
  EXPECT_EQ(metric("completions"), 12.0);
}

// Two at a time: prompt 0 has its first success in the fourth completion, prompt 1 in its first, prompt 2 in
// none.
TEST_F(StepRolloutTest, SamplesOnWhereAPromptHasNotEnough) {
  config_.rollout.num_generations = 2;
  config_.rollout.keep_generations = 2;
  config_.rollout.max_sampling_rounds = 3;
  const auto score = [](int64_t prompt, int64_t sample) {
    return (prompt == 0 && sample == 3) || (prompt == 1 && sample == 0) ? 1.0 : 0.0;
  };
  for (const char* rule : {"balanced", "positive_focused"}) {
    config_.rollout.adaptive_sampling = rule;
    const Batch drawn = draw(score);
    EXPECT_EQ(prompts_drawn_, 3);
    EXPECT_EQ(samples_in(drawn.groups[0]), (Samples{0, 3}));
    EXPECT_EQ(samples_in(drawn.groups[1]), (Samples{0, 1}));
    EXPECT_EQ(samples_in(drawn.groups[2]), (Samples{0, 1}));
    EXPECT_EQ(reward_of(drawn.groups[0].samples[1]), 1.0);
    ASSERT_EQ(drawn.untrained.size(), 2U);
    EXPECT_EQ(samples_in(drawn.untrained[0].group), (Samples{1, 2}));
    EXPECT_EQ(drawn.untrained[0].of, 0);
    EXPECT_EQ(samples_in(drawn.untrained[1].group), (Samples{2, 3, 4, 5}));
    EXPECT_EQ(drawn.untrained[1].of, 2);
    EXPECT_EQ(metric("completions"), 12.0);
    EXPECT_EQ(metric("rounds"), 2.0);
    EXPECT_NEAR(metric("settled"), 2.0 / 3.0, 1e-12);
    EXPECT_NEAR(metric("reward"), 1.0 / 6.0, 1e-12);
  }
}

// Prompt 0 never has a success, so that a further one takes its place; its rounds do not shift others' draws.
TEST_F(StepRolloutTest, DrawsFurtherPromptsAfterAllRounds) {
  config_.rollout.prompts_per_step = 2;
  config_.rollout.num_generations = 2;
  config_.rollout.dynamic_sampling = true;
  config_.rollout.keep_generations = 2;
  config_.rollout.adaptive_sampling = "balanced";
  config_.rollout.max_sampling_rounds = 2;
  const Batch drawn =
      draw([](int64_t prompt, int64_t sample) { return prompt > 0 && sample == 2 ? 1.0 : 0.0; });
  EXPECT_EQ(ids_of(drawn.groups), (PromptIds{"1", "2"}));
  EXPECT_EQ(samples_in(drawn.groups[1]), (Samples{0, 2}));
}

// In the first step all prompts are alike; in the second one the first is known to be too easy, the last to
// be just right.
TEST_F(StepRolloutTest, GivesMoreCompletionsToPromptsThatTeachMore) {
  config_.rollout.generation_budget = "knapsack";
  CountedPrompts prompts;
  RewardScorer scorer(config_.reward, scored_by([](int64_t prompt, int64_t sample) {
                        return prompt == 0 || (prompt == 2 && sample == 0) ? 1.0 : 0.0;
                      }));
  StepRollout rollout(config_, *decoder_, nullptr, prompts, scorer);
  const auto draw_again = [&](StepRollout& source) {
    timings_.clear();
    StepTimer timer(timings_);
    prompts.load(0);
    Batch drawn = source.collect(kStep, 0, timer);
    metrics_ = source.metrics();
    expect_addressed(drawn);
    return drawn;
  };
  const Batch first = draw_again(rollout);
  for (const Group& group : first.groups) EXPECT_EQ(group.samples.size(), 4U);
  EXPECT_EQ(metric("largest_group"), 4.0);
  StepRollout resumed(config_, *decoder_, nullptr, prompts, scorer);
  resumed.load(Json::parse(rollout.save().dump()));
  const Samples sizes = divide_generations(std::vector<double>{5.0 / 6.0, 1.0 / 6.0, 2.0 / 6.0}, 12, 16);
  EXPECT_GT(sizes[2], sizes[0]);
  for (StepRollout* source : {&rollout, &resumed}) {
    const Batch second = draw_again(*source);
    for (size_t p = 0; p < sizes.size(); ++p) EXPECT_EQ(std::ssize(second.groups[p].samples), sizes[p]) << p;
    EXPECT_EQ(metric("smallest_group"), *std::ranges::min_element(sizes));
    EXPECT_EQ(metric("largest_group"), *std::ranges::max_element(sizes));
    EXPECT_EQ(metric("completions"), 12.0);
  }
}

/// A rollout with what it draws from, over several steps.
struct Steps {
  Steps(const TrainConfig& config, const Decoder& decoder, Score score)
      : scorer(config.reward, scored_by(std::move(score))),
        rollout(config, decoder, nullptr, prompts, scorer) {}

  Batch collect(int64_t step, int64_t policy_version) {
    Metrics timings;
    StepTimer timer(timings);
    return rollout.collect(step, policy_version, timer);
  }

  CountedPrompts prompts;
  RewardScorer scorer;
  StepRollout rollout;
};

class AheadTest : public StepRolloutTest {
 protected:
  AheadTest() { config_.rollout.prompts_ahead = 2; }

  /// The completion at (seed, step, number, sample).
  std::vector<int32_t> tokens_at(const Prompt& prompt, uint64_t step, uint64_t number, int64_t sample) {
    Sampler sampler(*decoder_, nullptr, 0);
    const SamplingParams params = run_sampling(config_, decoder_->config(), nullptr);
    return sampler.rollout({prompt}, sample + 1, params, {9, step, number})[0]
        .samples[sample]
        .completion.token_ids;
  }

  static std::vector<int64_t> versions_of(const Batch& batch) {
    std::vector<int64_t> versions;
    for (const Group& group : batch.groups) versions.push_back(group.samples[0].completion.policy_version());
    return versions;
  }

  static double ten_times_prompt(int64_t prompt, int64_t sample) { return 10.0 * prompt + sample; }
};

TEST_F(AheadTest, AStepBeginsWithWhatTheOneBeforeHasDrawn) {
  Steps steps(config_, *decoder_, ten_times_prompt);
  const Batch first = steps.collect(1, 0);
  EXPECT_EQ(ids_of(first.groups), (PromptIds{"0", "1", "2"}));
  EXPECT_EQ(versions_of(first), (Samples{0, 0, 0}));
  EXPECT_EQ(steps.prompts.save().get<int64_t>(), 5);
  const Batch second = steps.collect(2, 1);
  EXPECT_EQ(ids_of(second.groups), (PromptIds{"3", "4", "5"}));
  EXPECT_EQ(versions_of(second), (Samples{0, 0, 1}));
  EXPECT_EQ(reward_of(second.groups[1].samples[3]), 43.0);
  EXPECT_EQ(reward_of(second.groups[2].samples[3]), 53.0);
  // Numbers go on behind the step's own prompts.
  for (const auto& [group, step, number] : {std::tuple(0, 1, 3), {1, 1, 4}, {2, 2, 0}}) {
    for (const Sample& sample : second.groups[group].samples)
      EXPECT_EQ(sample.completion.token_ids,
                tokens_at(second.groups[group].prompt, step, number, sample.completion.sample));
  }
  const Batch third = steps.collect(3, 2);
  EXPECT_EQ(ids_of(third.groups), (PromptIds{"6", "7", "8"}));
  EXPECT_EQ(versions_of(third), (Samples{1, 1, 2}));
  EXPECT_EQ(steps.rollout.metrics().front().first, "rollout/stale_tokens");
  double stale = 0.0, all = 0.0;
  for (size_t g = 0; g < 3; ++g) {
    for (const Sample& sample : third.groups[g].samples) {
      all += static_cast<double>(sample.completion.token_ids.size());
      stale += g < 2 ? static_cast<double>(sample.completion.token_ids.size()) : 0.0;
    }
  }
  EXPECT_DOUBLE_EQ(steps.rollout.metrics().front().second, stale / all);
  EXPECT_EQ(steps.rollout.empty_metrics().front().first, "rollout/stale_tokens");
}

TEST_F(AheadTest, AWholeStepMayBeDrawnAhead) {
  config_.rollout.prompts_ahead = 3;
  Steps steps(config_, *decoder_, ten_times_prompt);
  steps.collect(1, 0);
  const Batch second = steps.collect(2, 1);
  EXPECT_EQ(ids_of(second.groups), (PromptIds{"3", "4", "5"}));
  EXPECT_EQ(versions_of(second), (Samples{0, 0, 0}));
  EXPECT_EQ(steps.prompts.save().get<int64_t>(), 9);
}

TEST_F(AheadTest, AResumedRunHasTheSameSamples) {
  Steps steps(config_, *decoder_, ten_times_prompt);
  steps.collect(1, 0);
  const Json saved = steps.rollout.save(), prompts = steps.prompts.save();
  const Batch expected = steps.collect(2, 1);
  Steps resumed(config_, *decoder_, ten_times_prompt);
  for (int64_t i = 0; i < 2; ++i) {  // also after a step that failed
    resumed.prompts.load(prompts);
    resumed.rollout.load(Json::parse(to_json_text(saved)));
    const Batch second = resumed.collect(2, 1);
    EXPECT_EQ(to_bytes(second), to_bytes(expected));
  }
}

}  // namespace
}  // namespace cohort
