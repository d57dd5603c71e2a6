// Completions and batches as values: spans of origin and turn, totals of rewards, and sums over groups.
#include "cohort/rl/batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr TokenOrigin kSampled = TokenOrigin::kSampled;
constexpr TokenOrigin kInjected = TokenOrigin::kInjected;

/// Two sampled tokens, three injected ones, one sampled in the next turn.
Completion two_turns() {
  Completion completion;
  for (const int32_t id : {11, 12}) completion.append(id, kSampled);
  for (const int32_t id : {21, 22, 23}) completion.append(id, kInjected, 1);
  completion.append(31, kSampled, 1);
  return completion;
}

Completion completion_of(int64_t num_tokens) {
  Completion completion;
  completion.token_ids.assign(num_tokens, 7);
  return completion;
}

std::vector<int64_t> sampled_places(const Completion& completion) {
  std::vector<int64_t> places;
  for_each_sampled(completion, [&](int64_t place) { places.push_back(place); });
  return places;
}

TEST(Completion, TurnsEndWithTheirLastSampledTokens) {
  EXPECT_EQ(turn_ends(two_turns()), (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(turn_ends(completion_of(3)), (std::vector<int64_t>{3}));
  Completion completion;  // begins with what the environment said first; the weights change within a turn
  completion.append(1, kInjected);
  completion.append(2, kSampled, 1, 0);
  completion.append(3, kSampled, 1, 1);
  completion.append(4, kInjected, 1, 1);
  EXPECT_EQ(turn_ends(completion), (std::vector<int64_t>{3}));
}

TEST(Completion, AppendBeginsASpanWhereOriginTurnOrPolicyChange) {
  const Completion completion = two_turns();
  EXPECT_EQ(completion.token_ids, (std::vector<int32_t>{11, 12, 21, 22, 23, 31}));
  EXPECT_EQ(completion.spans,
            (std::vector<TokenSpan>{{.origin = kSampled, .turn = 0, .first = 0, .count = 2},
                                    {.origin = kInjected, .turn = 1, .first = 2, .count = 3},
                                    {.origin = kSampled, .turn = 1, .first = 5, .count = 1}}));
  EXPECT_NO_THROW(check_completion(completion));

  Completion other;
  other.append(1, kSampled, 0, 4);
  other.append(2, kSampled, 0, 5);  // the weights changed while it was sampled
  other.append(3, kSampled, 1, 5);
  other.append(4, kSampled, 1, 5);
  ASSERT_EQ(other.spans.size(), 3u);
  EXPECT_EQ(other.spans[1], (TokenSpan{.turn = 0, .policy_version = 5, .first = 1, .count = 1}));
  EXPECT_EQ(other.spans[2], (TokenSpan{.turn = 1, .policy_version = 5, .first = 2, .count = 2}));
  EXPECT_EQ(other.spans[2].end(), 4);
  EXPECT_EQ(other.policy_version(), 4);  // of the first span
  EXPECT_EQ(other.num_sampled(), 4);
}

TEST(Completion, AppendNeedsSpansOfTheTokensBefore) {
  Completion completion = completion_of(2);
  EXPECT_THROW(completion.append(3, kSampled), InternalError);
  EXPECT_EQ(completion.token_ids.size(), 2u);
  EXPECT_TRUE(completion.spans.empty());
}

TEST(Completion, CountsItsSampledTokens) {
  const Completion completion = two_turns();
  EXPECT_EQ(completion.num_sampled(), 3);
  const int64_t expected[] = {0, 1, 2, 2, 2, 2, 3, 3};
  for (int64_t end = 0; end < std::ssize(expected); ++end)
    EXPECT_EQ(completion.num_sampled_before(end), expected[end]) << end;
  EXPECT_EQ(sampled_places(completion), (std::vector<int64_t>{0, 1, 5}));

  Completion injected_first;
  injected_first.append(1, kInjected);
  injected_first.append(2, kSampled, 1, 9);
  EXPECT_EQ(injected_first.num_sampled_before(1), 0);
  EXPECT_EQ(injected_first.num_sampled(), 1);
}

TEST(Completion, WithoutSpansAllTokensAreSampled) {
  const Completion completion = completion_of(3);
  EXPECT_EQ(completion.num_sampled(), 3);
  EXPECT_EQ(completion.num_sampled_before(2), 2);
  EXPECT_EQ(completion.num_sampled_before(9), 3);
  EXPECT_EQ(sampled_places(completion), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(completion.policy_version(), 0);
  EXPECT_NO_THROW(check_completion(completion));
  EXPECT_EQ(Completion().num_sampled(), 0);
  EXPECT_NO_THROW(check_completion(Completion()));
}

TEST(Completion, SpansMustCoverTheTokensInOrder) {
  const auto check = [](std::vector<TokenSpan> spans) {
    Completion completion = completion_of(4);
    completion.spans = std::move(spans);
    check_completion(completion);
  };
  EXPECT_NO_THROW(check({{.first = 0, .count = 1}, {.first = 1, .count = 3}}));
  EXPECT_THROW(check({{.first = 0, .count = 1}, {.first = 2, .count = 2}}), InternalError);  // a gap
  EXPECT_THROW(check({{.first = 0, .count = 3}, {.first = 2, .count = 2}}), InternalError);  // an overlap
  EXPECT_THROW(check({{.first = 1, .count = 3}}), InternalError);
  EXPECT_THROW(check({{.first = 0, .count = 3}}), InternalError);  // too few
  EXPECT_THROW(check({{.first = 0, .count = 5}}), InternalError);  // too many
  EXPECT_THROW(check({{.first = 0, .count = 4}, {.first = 4, .count = 0}}), InternalError);
  Completion empty;
  empty.spans.push_back({.first = 0, .count = 1});
  EXPECT_THROW(check_completion(empty), InternalError);
}

TEST(Completion, ColumnsHaveAValueForEachSampledToken) {
  Completion completion = two_turns();
  completion.sampler_logprobs.assign(3, -1.0f);
  completion.kept_ids.resize(3);
  EXPECT_NO_THROW(check_completion(completion));
  completion.sampler_logprobs.resize(6);  // one for each token, injected ones included
  EXPECT_THROW(check_completion(completion), InternalError);
  completion.sampler_logprobs.resize(2);
  EXPECT_THROW(check_completion(completion), InternalError);
  completion.sampler_logprobs.clear();  // a column may be absent
  EXPECT_NO_THROW(check_completion(completion));
  completion.kept_ids.resize(6);
  EXPECT_THROW(check_completion(completion), InternalError);
}

RewardResult cell(double score, RewardStatus status = RewardStatus::kOk) { return {score, status, ""}; }

TEST(TotalReward, FailuresAreNeverZero) {
  std::vector<std::vector<RewardResult>> rewards(6, {cell(1.0), cell(0.5)});
  rewards[1][0].status = RewardStatus::kTimeout;
  rewards[2][0].status = RewardStatus::kSkipped;
  rewards[3][0].status = rewards[3][1].status = RewardStatus::kSkipped;
  rewards[4][1].score = std::nan("");
  rewards[5][1].status = RewardStatus::kUnparsed;
  const auto has_total = [&](const std::vector<double>& weights) {
    std::vector<uint8_t> result;
    for (const std::vector<RewardResult>& cells : rewards)
      result.push_back(!std::isnan(total_reward(cells, weights)));
    return result;
  };
  const std::vector<double> weights{2.0, 10.0};
  EXPECT_EQ(has_total(weights), (std::vector<uint8_t>{1, 0, 1, 0, 0, 0}));
  EXPECT_EQ(total_reward(rewards[0], weights), 7.0);
  EXPECT_EQ(total_reward(rewards[2], weights), 5.0);
  // A reward of weight 0 is only logged.
  EXPECT_EQ(has_total({2.0, 0.0}), (std::vector<uint8_t>{1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(total_reward(rewards[5], std::vector<double>{2.0, 0.0}), 2.0);
}

TEST(TotalReward, EveryStatusButOkAndSkippedIsAFailure) {
  for (const RewardStatus status :
       {RewardStatus::kUnparsed, RewardStatus::kTimeout, RewardStatus::kError, RewardStatus::kSandboxError}) {
    const std::vector<RewardResult> cells{cell(1.0), cell(0.0, status)};
    EXPECT_TRUE(std::isnan(total_reward(cells, std::vector<double>{1.0, 1.0}))) << to_string(status);
    EXPECT_EQ(total_reward(cells, std::vector<double>{1.0, 0.0}), 1.0) << to_string(status);
  }
  for (const double score :
       {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")}) {
    const std::vector<RewardResult> cells{cell(1.0), cell(score)};
    EXPECT_TRUE(std::isnan(total_reward(cells, std::vector<double>{1.0, 1.0}))) << score;
  }
}

TEST(TotalReward, NothingThatAppliesIsNoReward) {
  EXPECT_TRUE(std::isnan(total_reward({}, {})));
  const std::vector<RewardResult> cells{cell(1.0), cell(2.0)};
  EXPECT_TRUE(std::isnan(total_reward(cells, std::vector<double>{0.0, 0.0})));
  EXPECT_EQ(total_reward(cells, std::vector<double>{-1.0, 0.5}), 0.0);  // a sum of 0 is a reward
  EXPECT_THROW(total_reward(cells, std::vector<double>{1.0}), InternalError);
}

/// Groups of one, no and two samples: prompts of 2, 5 and 3 tokens, completions of 4, 1 and 0.
Batch small_batch() {
  Batch batch;
  batch.reward_names = {"right", "format"};
  batch.reward_weights = {1.0, 0.5};
  batch.groups.resize(3);
  const size_t prompt_lengths[] = {2, 5, 3};
  for (size_t g = 0; g < 3; ++g) batch.groups[g].prompt.token_ids.assign(prompt_lengths[g], 1);
  batch.groups[0].samples.resize(1);
  batch.groups[0].samples[0].completion = completion_of(4);
  batch.groups[2].samples.resize(2);
  batch.groups[2].samples[0].completion = completion_of(1);
  for_each_sample(batch.groups, [](Sample& sample) { sample.rewards = {cell(1.0), cell(1.0)}; });
  batch.groups[2].samples[1].rewards[0] = cell(0.0, RewardStatus::kError);
  return batch;
}

/// One more sample of the first group's prompt, of six tokens.
UntrainedGroup left_out(const Batch& batch) {
  UntrainedGroup untrained;
  untrained.reason = Untrained::kNotKept;
  untrained.of = 0;
  untrained.group.prompt = batch.groups[0].prompt;
  untrained.group.samples.resize(1);
  untrained.group.samples[0].completion = completion_of(6);
  untrained.group.samples[0].rewards = {cell(0.0), cell(1.0)};
  return untrained;
}

TEST(Batch, AddsUpRewardsOfAllSamples) {
  Batch batch = small_batch();
  batch.untrained.push_back(left_out(batch));
  for_each_sample(batch.groups, [](const Sample& sample) { EXPECT_FALSE(sample.has_reward()); });
  add_up_rewards(batch);
  EXPECT_EQ(rewards_of(batch.groups[0]), (std::vector<double>{1.5}));
  EXPECT_TRUE(rewards_of(batch.groups[1]).empty());
  const std::vector<double> last = rewards_of(batch.groups[2]);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0], 1.5);
  EXPECT_TRUE(std::isnan(last[1]));
  EXPECT_TRUE(batch.groups[2].samples[0].has_reward());
  EXPECT_FALSE(batch.groups[2].samples[1].has_reward());
  EXPECT_EQ(rewards_of(batch.untrained[0].group), (std::vector<double>{0.5}));
}

TEST(Batch, CountsSamplesAndTokens) {
  Batch batch = small_batch();
  EXPECT_EQ(num_samples(batch.groups), 3);
  EXPECT_EQ(group_ends_of(batch.groups), (std::vector<int64_t>{1, 1, 3}));
  // 2 + 4, and the prompt of 3 once per sample with 1 and 0. A group without samples has no tokens.
  EXPECT_EQ(total_tokens(batch.groups), 6 + 4 + 3);
  EXPECT_EQ(total_tokens(batch), 13);
  batch.untrained.push_back(left_out(batch));
  EXPECT_EQ(total_tokens(batch.groups), 13);
  EXPECT_EQ(total_tokens(batch), 13 + 8);
  EXPECT_EQ(num_samples({}), 0);
  EXPECT_TRUE(group_ends_of({}).empty());
  EXPECT_EQ(total_tokens(Batch()), 0);
}

TEST(Batch, InjectedTokensAreTokensWithoutLoss) {
  Sample sample;
  sample.completion = two_turns();
  EXPECT_EQ(sample.loss_length(), 3);
  for (const LossMask mask : {LossMask::kTruncated, LossMask::kMonitor}) {
    sample.mask = mask;
    EXPECT_EQ(sample.loss_length(), 0) << to_string(mask);
  }
  Group group;
  group.samples.push_back(sample);
  EXPECT_EQ(total_tokens({&group, 1}), 6);
}

TEST(Batch, EachSampleHasTheWeightOfItsGroupsKl) {
  Batch batch = small_batch();
  EXPECT_TRUE(betas_of(batch.groups).empty());
  for (size_t g = 0; g < 3; ++g) batch.groups[g].beta = 0.25 * static_cast<double>(g);
  EXPECT_EQ(betas_of(batch.groups), (std::vector<double>{0.0, 0.5, 0.5}));
}

TEST(Batch, OwnsWhatItHolds) {
  Batch batch = small_batch();
  batch.untrained.push_back(left_out(batch));
  const Batch copy = batch;
  batch.groups[0].samples[0].completion.token_ids[0] = 99;
  batch.groups[0].samples[0].rewards[0].score = -1.0;
  batch.untrained[0].group.samples.clear();
  EXPECT_EQ(copy.groups[0].samples[0].completion.token_ids[0], 7);
  EXPECT_EQ(copy.groups[0].samples[0].rewards[0].score, 1.0);
  EXPECT_EQ(copy.untrained[0].group.samples.size(), 1u);
}

TEST(Batch, SaysWhyASampleHasNoPart) {
  EXPECT_STREQ(to_string(LossMask::kNone), "none");
  EXPECT_STREQ(to_string(LossMask::kTruncated), "truncated");
  EXPECT_STREQ(to_string(LossMask::kMonitor), "monitor");
  EXPECT_STREQ(to_string(Untrained::kGreedy), "greedy");
  EXPECT_STREQ(to_string(Untrained::kNotKept), "not_kept");
  EXPECT_STREQ(to_string(Untrained::kNoDifference), "no_difference");
  EXPECT_STREQ(to_string(Untrained::kSurplus), "surplus");
}

}  // namespace
}  // namespace cohort
