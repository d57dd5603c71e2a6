// What holds for every composition: gradients are slopes, and cutting or ordering a batch changes nothing.
#include <gtest/gtest.h>

#include <limits>

#include "cohort/core/error.h"
#include "tests/objectives/differences.h"
#include "tests/objectives/loss_compositions.h"

namespace cohort {
namespace {

/// Gradients to the policy's log-probabilities, the entropies and the values, one behind the other.
at::Tensor gradients_of(LossInput& input) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& leaf : {input.policy_logprobs, input.entropies, input.values})
    parts.push_back(leaf.grad().defined() ? leaf.grad().clone() : at::zeros_like(leaf));
  return at::cat(parts);
}

void make_leaves(LossInput& input) {
  for (at::Tensor* leaf : {&input.policy_logprobs, &input.entropies, &input.values})
    *leaf = leaf->detach().clone().requires_grad_();
}

TEST(LossComposition, CuttingTheBatchChangesNothing) {
  for (const auto& [name, change] : compositions()) {
    SCOPED_TRACE(name);
    const LossConfig config = config_of(change);
    LossInput input = batch_for(name);
    make_leaves(input);
    const LossOutput whole = policy_loss(input, config);
    whole.loss.backward();
    const at::Tensor expected = gradients_of(input);
    make_leaves(input);
    input.whole = whole_batch_of(input, config);
    double loss = 0.0;
    LossMetrics metrics;
    const std::vector<int64_t> cuts =
        needs_whole_groups(config) ? std::vector<int64_t>{0, 3, 6} : std::vector<int64_t>{0, 1, 2, 4, 5, 6};
    for (size_t i = std::size(cuts) - 1; i > 0; --i) {
      const LossOutput part = policy_loss(completions_of(input, cuts[i - 1], cuts[i]), config);
      part.loss.backward();
      loss += part.loss.item<double>();
      metrics.add(part.metrics);
    }
    EXPECT_NEAR(loss, whole.loss.item<double>(), 1e-14);
    EXPECT_LT((gradients_of(input) - expected).abs().max().item<double>(), 1e-14);
    for (const auto& [key, value] : whole.metrics.values())
      EXPECT_NEAR(metrics.values()[key], value, 1e-13) << key;
  }
}

/// Tokens in the order of the completions `order`, from [M].
at::Tensor permuted(const at::Tensor& tokens, const std::vector<int64_t>& lengths,
                    const std::vector<int64_t>& order) {
  const std::vector<at::Tensor> parts = tokens.split_with_sizes(lengths);
  std::vector<at::Tensor> moved;
  for (const int64_t i : order) moved.push_back(parts[i]);
  return at::cat(moved);
}

/// Both groups exchanged and the completions of each in another order.
LossInput shuffled_batch(const LossInput& input, const std::vector<int64_t>& order) {
  LossInput moved = input;
  for (const auto field : {&LossInput::policy_logprobs, &LossInput::old_logprobs,
                           &LossInput::sampler_logprobs, &LossInput::ref_logprobs, &LossInput::entropies,
                           &LossInput::values, &LossInput::old_values, &LossInput::returns})
    moved.*field = permuted(input.*field, input.lengths, order);
  const at::Tensor indices = at::tensor(order, at::kLong);
  moved.advantages = input.advantages.index_select(0, indices);
  moved.rewards = input.rewards.index_select(0, indices);
  for (size_t i = 0; i < order.size(); ++i) {
    moved.lengths[i] = input.lengths[order[i]];
    if (!input.is_demonstration.empty()) moved.is_demonstration[i] = input.is_demonstration[order[i]];
  }
  moved.turn_lengths = {1, 1, 2, 3, 3, 1, 2, 2};
  return moved;
}

TEST(LossComposition, OrderOfTheBatchChangesNothing) {
  const std::vector<int64_t> order = {3, 5, 4, 2, 1, 0};
  for (const auto& [name, change] : compositions()) {
    if (name == "clip-cov") continue;  // the draw is by position
    SCOPED_TRACE(name);
    const LossConfig config = config_of(change);
    LossInput input = batch_for(name);
    const auto gradient = [&](const LossInput& batch) {
      return gradient_of(
          [&](const at::Tensor& policy) {
            LossInput moved = batch;
            moved.policy_logprobs = policy;
            return policy_loss(moved, config).loss;
          },
          batch.policy_logprobs);
    };
    const LossInput moved = shuffled_batch(input, order);
    const at::Tensor expected = permuted(gradient(input), input.lengths, order);
    EXPECT_LT((gradient(moved) - expected).abs().max().item<double>(), 1e-14);
    EXPECT_NEAR(policy_loss(moved, config).loss.item<double>(),
                policy_loss(input, config).loss.item<double>(), 1e-14);
  }
}

TEST(LossComposition, GradientsAreSlopes) {
  // The others hold weights constant that depend on the policy.
  const auto holds_constants = [](const std::string& name) {
    for (const char* start : {"cispo/", "vespo", "dppo", "kl/k3_plus", "budget"})
      if (name.starts_with(start)) return !name.ends_with("/none");
    return name.ends_with("/sequence_token");
  };
  for (const auto& [name, change] : compositions()) {
    if (holds_constants(name)) continue;
    SCOPED_TRACE(name);
    const LossConfig config = config_of(change);
    const LossInput input = batch_for(name);
    expect_gradient_is_slope(
        [&](const at::Tensor& policy) {
          LossInput moved = input;
          moved.policy_logprobs = policy;
          return policy_loss(moved, config).loss;
        },
        input.policy_logprobs);
  }
}

TEST(LossComposition, EntropiesAndValuesCarryGradient) {
  LossConfig config;
  config.entropy_coef = 0.1;
  config.value_coef = 0.5;
  const LossInput input = small_batch();
  for (const auto field : {&LossInput::entropies, &LossInput::values}) {
    expect_gradient_is_slope(
        [&](const at::Tensor& values) {
          LossInput moved = input;
          moved.*field = values;
          return policy_loss(moved, config).loss;
        },
        input.*field);
  }
}

/// Expects -c * W * A per token, for a surrogate whose weight is a constant.
void expect_kernel(const ConfigChange& change, const at::Tensor& weights) {
  const LossInput input = small_batch();
  const Segments completions(input.lengths, at::Device(at::kCPU));
  const at::Tensor c = 1.0 / (6 * completions.expand(completions.lengths(at::kDouble)));
  const LossConfig config = config_of(change);
  const at::Tensor gradient = gradient_of(
      [&](const at::Tensor& policy) {
        LossInput moved = input;
        moved.policy_logprobs = policy;
        return policy_loss(moved, config).loss;
      },
      input.policy_logprobs);
  const at::Tensor expected = -c * weights * completions.expand(input.advantages);
  EXPECT_LT((gradient - expected).abs().max().item<double>(), 1e-14);
}

TEST(LossComposition, HeldWeightsGiveTheKernelsGradient) {
  const LossInput input = small_batch();
  const Segments completions(input.lengths, at::Device(at::kCPU));
  const at::Tensor advantages = completions.expand(input.advantages);
  const at::Tensor log_ratio = input.policy_logprobs - input.old_logprobs;
  expect_kernel(
      [](LossConfig& config) {
        config.surrogate = "cispo";
        config.epsilon_high = 1.1;
        config.cispo.min = 0.9;
      },
      log_ratio.exp().clamp(0.9, 1.1));
  expect_kernel(
      [](LossConfig& config) {
        config.importance_sampling_level = "sequence_token";
        config.clip_side = "none";
      },
      completions.expand(completions.mean(log_ratio)).exp());
  const at::Tensor w = completions.expand(completions.sum(log_ratio)).exp();
  expect_kernel([](LossConfig& config) { config.surrogate = "vespo"; },
                at::where(advantages >= 0, (3 - 3 * w).exp() * w.square(), (2 - 2 * w).exp() * w.pow(3)));
  const at::Tensor moved = input.policy_logprobs.exp() - input.old_logprobs.exp();
  const at::Tensor is_kept = (moved * advantages.sign() <= 0.05);
  EXPECT_GT(is_kept.logical_not().sum().item<int64_t>(), 0);
  expect_kernel(
      [](LossConfig& config) {
        config.surrogate = "dppo";
        config.epsilon = 0.05;
        config.dppo.ratio_truncation = 1.2;
      },
      log_ratio.exp().clamp_max(1.2) * is_kept);
}

TEST(LossComposition, DemonstrationsNeedNoSampler) {
  LossInput input = small_batch();
  input.is_demonstration = {1, 0, 0, 0, 0, 0};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  input.old_logprobs.slice(0, 0, 4).fill_(nan);
  input.sampler_logprobs.slice(0, 0, 4).fill_(nan);
  for (const char* surrogate : {"ppo", "sapo", "dppo", "drpo", "gmpo", "regression"}) {
    SCOPED_TRACE(surrogate);
    LossConfig config;
    config.surrogate = surrogate;
    config.importance_sampling_mode = "sequence_mask";
    config.off_policy_mask_threshold = 0.1;
    config.log_ratio_penalty = 0.1;
    const at::Tensor gradient = gradient_of(
        [&](const at::Tensor& policy) {
          LossInput moved = input;
          moved.policy_logprobs = policy;
          return policy_loss(moved, config).loss;
        },
        input.policy_logprobs);
    const at::Tensor p = input.policy_logprobs.slice(0, 0, 4).exp();
    const at::Tensor expected = -1.2 / 24 * 0.1 * p / (p + 0.1).square();
    EXPECT_LT((gradient.slice(0, 0, 4) - expected).abs().max().item<double>(), 1e-15);
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  }
}

TEST(LossComposition, TheBatchIsKnownBeforeTheForwardPass) {
  int64_t num_known = 0;
  for (const auto& [name, change] : compositions()) {
    SCOPED_TRACE(name);
    const LossConfig config = config_of(change);
    const LossInput input = batch_for(name);
    LossInput before = input;
    before.policy_logprobs.reset();
    before.values.reset();
    if (reads_policy_before_cut(config)) {
      EXPECT_THROW(whole_batch_of(before, config), InternalError);
      continue;
    }
    ++num_known;
    LossInput after = input;
    after.whole = whole_batch_of(before, config);
    EXPECT_EQ(policy_loss(after, config).loss.item<double>(), policy_loss(input, config).loss.item<double>());
  }
  EXPECT_EQ(num_known, std::ssize(compositions()) - 4);
}

TEST(LossComposition, ACompletionWithoutTokensAloneIsZero) {
  for (const auto& [name, change] : compositions()) {
    SCOPED_TRACE(name);
    LossInput input = small_batch();
    input.whole = whole_batch_of(input, config_of(change));
    LossInput part = completions_of(input, 4, 5);
    for (const bool is_whole : {false, true}) {
      if (is_whole) part.whole.reset();
      part.policy_logprobs = at::zeros({0}, at::kDouble).requires_grad_();
      const LossOutput output = policy_loss(part, config_of(change));
      EXPECT_EQ(output.loss.item<double>(), 0.0);
      EXPECT_NO_THROW(output.loss.backward());
    }
  }
}

TEST(LossComposition, EmptyBatchesAreZero) {
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{}, {0, 0}}) {
    LossInput input;
    input.lengths = lengths;
    input.group_ends = {std::ssize(lengths)};
    input.policy_logprobs = at::zeros({0}, at::kDouble).requires_grad_();
    input.advantages = at::ones({std::ssize(lengths)}, at::kDouble);
    const at::Tensor loss = policy_loss(input, {}).loss;
    EXPECT_EQ(loss.item<double>(), 0.0);
    EXPECT_NO_THROW(loss.backward());
  }
}

}  // namespace
}  // namespace cohort
