// The composed loss: hand arithmetic, identities and finite differences.
#include "cohort/objectives/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "tests/objectives/differences.h"
#include "tests/objectives/loss_batch.h"

namespace cohort {
namespace {

at::Tensor loss_at(LossInput input, const LossConfig& config, const at::Tensor& policy) {
  input.policy_logprobs = policy;
  return policy_loss(input, config).loss;
}

at::Tensor policy_gradient(const LossInput& input, const LossConfig& config) {
  return gradient_of([&](const at::Tensor& p) { return loss_at(input, config, p); }, input.policy_logprobs);
}

LossConfig with_surrogate(const std::string& surrogate, const std::string& level = "token") {
  LossConfig config;
  config.surrogate = surrogate;
  config.importance_sampling_level = level;
  config.max_completion_length = 8;
  return config;
}

/// Two completions of two tokens and one; ratios 2, 0.5 | 1.5; reference 0.5 nats below | equal.
LossInput hand_batch() {
  LossInput input;
  input.lengths = {2, 1};
  input.group_ends = {2};
  input.policy_logprobs = doubles({-1, -1, -1});
  input.old_logprobs = doubles({-1 - std::log(2.0), -1 + std::log(2.0), -1 - std::log(1.5)});
  input.ref_logprobs = doubles({-1.5, -1.5, -1});
  input.advantages = doubles({1, -1});
  return input;
}

TEST(Loss, ClippedSurrogateWithKlByHand) {
  LossConfig config;
  config.beta = 0.1;
  const LossInput input = hand_batch();
  const double k3 = std::exp(-0.5) - 0.5;
  // min(2, 1.2) and min(0.5, 0.8) of the first; -1.5 of the second.
  const double expected = ((-1.2 + 0.1 * k3) + (-0.5 + 0.1 * k3)) / 4 + 1.5 / 2;
  const LossOutput output = policy_loss(input, config);
  EXPECT_NEAR(output.loss.item<double>(), expected, 1e-12);
  const double slope = 0.1 * (1 - std::exp(-0.5));
  expect_all_near(policy_gradient(input, config), {slope / 4, (-0.5 + slope) / 4, 1.5 / 2});
  const auto metrics = output.metrics.values();
  EXPECT_NEAR(metrics.at("loss"), expected, 1e-12);
  EXPECT_NEAR(metrics.at("policy_loss"), -1.7 / 4 + 0.75, 1e-12);
  EXPECT_NEAR(metrics.at("kl"), 2 * k3 / 3, 1e-12);
  EXPECT_NEAR(metrics.at("ratio/mean"), 4.0 / 3, 1e-12);
  EXPECT_NEAR(metrics.at("ratio/max"), 2, 1e-12);
  EXPECT_NEAR(metrics.at("clip_ratio/high_mean"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(metrics.at("clip_ratio/low_mean"), 0, 1e-12);
  EXPECT_NEAR(metrics.at("clip_ratio/region_mean"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(metrics.at("clip_ratio/high_max"), 0.5, 1e-12);
}

TEST(Loss, SequenceRatioCountsASequenceOnce) {
  LossInput input = hand_batch();
  input.old_logprobs = doubles({-1 - std::log(2.0), -1 - std::log(8.0), -1 - std::log(1.5)});
  LossConfig config = with_surrogate("ppo", "sequence");
  config.epsilon = 10;
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), (-4 + 1.5) / 2, 1e-12);
  expect_all_near(policy_gradient(input, config), {-1, -1, 0.75});
  config.importance_sampling_level = "sequence_product";
  config.epsilon = 20;
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), (-16 + 1.5) / 2, 1e-12);
  expect_all_near(policy_gradient(input, config), {-8, -8, 0.75});
}

TEST(Loss, OneSidedClipAndTwoSidedCap) {
  LossInput input = hand_batch();
  input.advantages = doubles({-1, -1});
  LossConfig config;
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), (2 + 0.8) / 4 + 0.75, 1e-12);
  config.clip_side = "upper";
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), (2 + 0.5) / 4 + 0.75, 1e-12);
  config.ppo.delta = 1.4;
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), (1.4 + 0.5) / 4 + 0.7, 1e-12);
}

TEST(Loss, MasksAndWeightsSpareTheKl) {
  LossInput input = hand_batch();
  input.sampler_logprobs = input.old_logprobs - doubles({0, std::log(3.0), std::log(4.0)});
  input.entropies = doubles({3, 2, 1});
  LossConfig config;
  config.clip_side = "none";
  config.beta = 1;
  config.importance_sampling_mode = "token_truncate";
  config.importance_sampling_clip_max = 3.0;
  const double kl = 2 * (std::exp(-0.5) - 0.5) / 4;
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), (-2 - 3 * 0.5) / 4 + 3 * 1.5 / 2 + kl, 1e-12);
  config.top_entropy_quantile = 0.5;  // the median is 2: the last token has no policy term
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), -3.5 / 4 + kl, 1e-12);
  // Mean of sampler - policy: -log(2 * 0.5 * 3) / 2 and -log(6), both below: nothing is left out.
  config.off_policy_mask_threshold = 0.0;
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), -3.5 / 4 + kl, 1e-12);
  config.top_entropy_quantile = 1.0;
  input.sampler_logprobs = doubles({-1, -1, -0.9});
  config.importance_sampling_mode = "none";
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), -2.5 / 4 + kl, 1e-12);
  input.sampler_logprobs.reset();  // measured against old: log(1 / 1.5) < 0
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), -2.5 / 4 + 1.5 / 2 + kl, 1e-12);
}

TEST(Loss, RatioBandWhateverTheAdvantage) {
  LossInput input = hand_batch();
  LossConfig config;
  config.clip_side = "none";
  config.log_ratio_min = -0.5;
  config.log_ratio_max = 0.5;
  config.log_ratio_penalty = 0.1;
  const double two = std::log(2.0), more = std::log(1.5);
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(),
              0.1 * (two * two + two * two) / 4 + (1.5 + 0.1 * more * more) / 2, 1e-12);
}

// The example of docs/objectives.md.
TEST(Loss, TheDocumentedExample) {
  const double advantage = 0.5 / (std::sqrt(0.5) + 1e-4);
  const auto loss_of = [&](const LossConfig& config, double of_right) {
    LossInput input;
    input.policy_logprobs = doubles({1.5, 0.9, 0.7}).log().requires_grad_();
    input.old_logprobs = doubles({0, 0, 0});
    input.advantages = doubles({of_right, -of_right});
    input.lengths = {2, 1};
    input.group_ends = {2};
    const LossOutput output = policy_loss(input, config);
    output.loss.backward();
    return std::pair{output.loss.item<double>(), input.policy_logprobs.grad()};
  };
  const auto [loss, gradient] = loss_of({}, advantage);
  EXPECT_NEAR(loss, -0.08838, 5e-6);
  EXPECT_NEAR(gradient[1].item<double>(), -0.15908, 5e-6);
  EXPECT_EQ(gradient[0].item<double>(), 0.0);
  EXPECT_EQ(gradient[2].item<double>(), 0.0);
  LossConfig config;
  config.aggregation = "token_mean";
  EXPECT_NEAR(loss_of(config, advantage).first, -0.30637, 5e-6);
  config.aggregation = "seq_mean_token_sum_norm";
  config.max_completion_length = 4;
  EXPECT_NEAR(loss_of(config, 0.5).first, -0.08125, 1e-12);
  config = {};
  config.importance_sampling_level = "sequence";
  config.epsilon = 3e-4;
  config.epsilon_high = 4e-4;
  const auto [of_sequences, none] = loss_of(config, advantage);
  EXPECT_NEAR(of_sequences, -0.00025, 5e-6);
  EXPECT_EQ(none.abs().max().item<double>(), 0.0);
}

TEST(Loss, OnPolicyAllRatiosGiveReinforce) {
  LossInput input = small_batch();
  input.old_logprobs = input.policy_logprobs;
  input.sampler_logprobs.reset();
  const at::Tensor expected = policy_gradient(input, with_surrogate("ppo", "none"));
  EXPECT_GT(expected.abs().min().item<double>(), 0.0);
  for (const char* level : {"token", "sequence", "sequence_token", "sequence_mean", "turn"}) {
    for (const char* surrogate : {"ppo", "cispo", "sapo"}) {
      SCOPED_TRACE(std::string(surrogate) + " " + level);
      LossConfig config = with_surrogate(surrogate, level);
      config.epsilon_high = 5.0;
      EXPECT_LT((policy_gradient(input, config) - expected).abs().max().item<double>(), 1e-15);
    }
  }
  for (const char* surrogate : {"vespo", "gmpo", "dppo", "drpo"}) {
    SCOPED_TRACE(surrogate);
    EXPECT_LT((policy_gradient(input, with_surrogate(surrogate)) - expected).abs().max().item<double>(),
              1e-15);
  }
  // The regression's is 2 tau times that of the sequence's log-probability.
  LossConfig regression = with_surrogate("regression");
  LossConfig sums = with_surrogate("ppo", "none");
  sums.aggregation = "seq_mean_token_sum";
  const at::Tensor difference = policy_gradient(input, regression) - 2 * 0.1 * policy_gradient(input, sums);
  EXPECT_LT(difference.abs().max().item<double>(), 1e-15);
}

TEST(Loss, AbsentOldLogprobsAreThePolicysOwn) {
  LossInput input = small_batch();
  input.old_logprobs.reset();
  input.sampler_logprobs.reset();
  const at::Tensor expected = policy_gradient(input, with_surrogate("ppo", "none"));
  for (const char* anchor : {"old", "sampler"}) {
    LossConfig config;
    config.ratio_anchor = anchor;
    EXPECT_LT((policy_gradient(input, config) - expected).abs().max().item<double>(), 1e-15);
  }
}

TEST(Loss, GspoIsGspoTokenForConstantAdvantages) {
  LossInput input = small_batch();
  const LossConfig sequence = with_surrogate("ppo", "sequence"),
                   token = with_surrogate("ppo", "sequence_token");
  EXPECT_NEAR(policy_loss(input, sequence).loss.item<double>(), policy_loss(input, token).loss.item<double>(),
              1e-15);
  const auto distance = [&] {
    return (policy_gradient(input, sequence) - policy_gradient(input, token)).abs().max().item<double>();
  };
  EXPECT_LT(distance(), 1e-15);
  input.advantages = scattered(15, 9, -1, 1);
  input.advantages_are_per_token = true;
  EXPECT_GT(distance(), 1e-3);
}

TEST(Loss, AnchorsByName) {
  LossInput input = small_batch();
  LossInput moved = input;
  LossConfig config;
  config.ratio_anchor = "sampler";
  moved.old_logprobs = input.sampler_logprobs;
  const double expected = policy_loss(moved, {}).loss.item<double>();
  EXPECT_DOUBLE_EQ(policy_loss(input, config).loss.item<double>(), expected);
  EXPECT_NE(policy_loss(input, {}).loss.item<double>(), expected);
  config.ratio_anchor = "ref";
  moved.old_logprobs = input.ref_logprobs;
  EXPECT_DOUBLE_EQ(policy_loss(input, config).loss.item<double>(),
                   policy_loss(moved, {}).loss.item<double>());
  // Where the sampler could not tell, old holds.
  config.ratio_anchor = "sampler";
  input.sampler_logprobs.slice(0, 0, 4).fill_(std::numeric_limits<double>::quiet_NaN());
  moved = input;
  moved.old_logprobs = at::cat({input.old_logprobs.slice(0, 0, 4), input.sampler_logprobs.slice(0, 4)});
  EXPECT_DOUBLE_EQ(policy_loss(input, config).loss.item<double>(),
                   policy_loss(moved, {}).loss.item<double>());
}

TEST(Loss, ZeroAdvantagesGiveExactlyZero) {
  LossInput input = small_batch();
  input.advantages = at::zeros({6}, at::kDouble);
  for (const char* surrogate : {"ppo", "cispo", "sapo", "vespo", "gmpo", "dppo", "drpo"}) {
    SCOPED_TRACE(surrogate);
    EXPECT_EQ(policy_loss(input, with_surrogate(surrogate)).loss.item<double>(), 0.0);
    EXPECT_EQ(policy_gradient(input, with_surrogate(surrogate)).abs().max().item<double>(), 0.0);
  }
}

TEST(Loss, LossTypeIsSurrogateAndAggregation) {
  const LossInput input = small_batch();
  LossConfig type, keys;
  type.loss_type = "sapo";
  keys.surrogate = "sapo";
  EXPECT_EQ(policy_loss(input, type).loss.item<double>(), policy_loss(input, keys).loss.item<double>());
  EXPECT_NE(policy_loss(input, type).loss.item<double>(), policy_loss(input, {}).loss.item<double>());
}

TEST(Loss, NumItemsOutsideTheCall) {
  LossInput input = small_batch();
  LossConfig config;
  config.loss_type = "dapo";
  const double own = policy_loss(input, config).loss.item<double>();
  input.num_items_in_batch = 60;
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), own / 4, 1e-15);
  config.loss_type = "bnpo";
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), own, 1e-15);
}

TEST(Loss, LambdaZeroIsDapo) {
  LossInput input = small_batch();
  LossConfig config;
  config.aggregation = "token_mean";
  const double dapo = policy_loss(input, config).loss.item<double>();
  input.length_preference = at::scalar_tensor(0.0, at::kDouble).requires_grad_();
  const at::Tensor loss = policy_loss(input, config).loss;
  EXPECT_NEAR(loss.item<double>(), dapo, 1e-15);
  loss.backward();
  EXPECT_NE(input.length_preference.grad().item<double>(), 0.0);
  config.length_preference = -2.0;
  EXPECT_NEAR(policy_loss(input, config).loss.item<double>(), dapo, 1e-15);  // the tensor is in its place
  input.length_preference.reset();
  EXPECT_GT(std::abs(policy_loss(input, config).loss.item<double>() - dapo), 1e-4);
  expect_gradient_is_slope(
      [&](const at::Tensor& preference) {
        input.length_preference = preference[0];
        return policy_loss(input, config).loss;
      },
      doubles({0.7}));
}

TEST(Loss, BetaOfEachCompletion) {
  LossInput input = small_batch();
  LossConfig config;
  config.beta = 0.3;
  const double one = policy_loss(input, config).loss.item<double>();
  input.betas = at::full({6}, 0.3, at::kDouble);
  config.beta = 0.0;
  EXPECT_DOUBLE_EQ(policy_loss(input, config).loss.item<double>(), one);
  config.kl_place = "reward";
  EXPECT_NE(policy_loss(input, config).loss.item<double>(), one);
}

TEST(Loss, DtypeOfTheInput) {
  LossInput input = small_batch();
  LossConfig config = with_surrogate("ppo", "sequence");
  config.beta = 0.1;
  const double expected = policy_loss(input, config).loss.item<double>();
  for (at::Tensor* values : {&input.old_logprobs, &input.sampler_logprobs, &input.ref_logprobs})
    *values = values->to(at::kFloat);
  input.policy_logprobs = input.policy_logprobs.to(at::kFloat);
  const at::Tensor loss = policy_loss(input, config).loss;
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_NEAR(loss.item<double>(), expected, 1e-6);
}

}  // namespace
}  // namespace cohort
