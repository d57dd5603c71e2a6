// A critic's passes: which rows its values come from, and the gradient of its loss, alone and in the policy's
// own pass.
#include "cohort/train/critic/value_pass.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "cohort/train/grpo/policy_loss.h"
#include "tests/models/tiny_decoder.h"
#include "tests/rounding.h"
#include "tests/train/critic_batch.h"

namespace cohort {
namespace {

/// A policy with a head on it.
struct HeadOnPolicy {
  explicit HeadOnPolicy(at::ScalarType dtype, const char* architecture = "Qwen3ForCausalLM")
      : policy(tiny_decoder(tiny_config(architecture), dtype)) {
    at::manual_seed(9);
    const at::ScalarType master = dtype == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor weight = (0.2 * at::randn({1, 48}, at::kDouble)).to(master).requires_grad_(true);
    const at::Tensor bias = at::full({1}, 0.3, master).requires_grad_(true);
    head = Linear(weight, bias, master);
  }

  std::vector<at::Tensor> leaves() const {
    std::vector<at::Tensor> all = policy->parameters();
    all.push_back(head.weight());
    all.push_back(head.bias());
    return all;
  }

  void refresh() {
    policy->refresh();
    head.repack();
  }

  std::unique_ptr<Decoder> policy;
  Linear head;
};

void clear_gradients(const std::vector<at::Tensor>& leaves) {
  for (at::Tensor leaf : leaves) leaf.mutable_grad() = at::Tensor();
}

std::vector<at::Tensor> take_gradients(const std::vector<at::Tensor>& leaves) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& leaf : leaves)
    gradients.push_back(leaf.grad().defined() ? leaf.grad().to(at::kDouble).clone() : at::Tensor());
  return gradients;
}

/// The PPO loss whose pass has the critic's loss in it.
LossConfig joint_objective() {
  LossConfig objective;
  objective.aggregation = "token_mean";
  objective.value_coef = 0.7;
  objective.value_clip = 0.2;
  objective.epsilon = 5.0;  // no kinks
  return objective;
}

double joint_loss(const HeadOnPolicy& model, const Batch& batch, int64_t max_rows) {
  const LossOptions options{.tokens_per_microbatch = max_rows, .value_head = &model.head};
  const LossResult result =
      accumulate_policy_gradient(*model.policy, batch.groups, joint_objective(), options);
  EXPECT_TRUE(result.is_finite);
  return result.objective.values().at("loss");
}

constexpr ValueLoss kValueLoss{.coefficient = 0.7, .clip = 0.2};

double value_loss(const HeadOnPolicy& model, const Batch& batch, int64_t max_rows) {
  const LossOptions options{.tokens_per_microbatch = max_rows};
  const LossResult result =
      accumulate_value_gradient(*model.policy, model.head, batch.groups, kValueLoss, options);
  EXPECT_TRUE(result.is_finite);
  return result.objective.values().at("value_loss");
}

using LossOf = double (*)(const HeadOnPolicy&, const Batch&, int64_t max_rows);

void expect_finite_differences(LossOf loss_of) {
  constexpr double kStep = 1e-5;
  const ThreadCount one_thread{1};
  HeadOnPolicy model(at::kDouble);
  const Batch batch = critic_batch();
  const std::vector<at::Tensor> leaves = model.leaves();
  loss_of(model, batch, 1000);
  const std::vector<at::Tensor> gradients = take_gradients(leaves);
  CounterRng random(3);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!gradients[i].defined()) continue;  // the language model's own head, in a pass of the critic's
    const at::Tensor values = leaves[i].detach().view(-1), gradient = gradients[i].view(-1);
    const double scale = gradient.abs().max().item<double>();
    for (const int64_t entry :
         {gradient.abs().argmax().item<int64_t>(), static_cast<int64_t>(random.below(gradient.numel()))}) {
      const double value = values[entry].item<double>();
      const auto loss_at = [&](double x) {
        values[entry].fill_(x);
        model.refresh();
        return loss_of(model, batch, 1000);
      };
      const double numeric = (loss_at(value + kStep) - loss_at(value - kStep)) / (2.0 * kStep);
      loss_at(value);
      EXPECT_GT(scale, 0.0) << i;
      EXPECT_NEAR(gradient[entry].item<double>(), numeric, 1e-6 * scale + 1e-8)
          << "parameter " << i << "[" << entry << "]";
    }
  }
}

TEST(ValuePass, TheJointGradientIsThatOfFiniteDifferences) { expect_finite_differences(joint_loss); }

TEST(ValuePass, TheCriticsOwnGradientIsThatOfFiniteDifferences) { expect_finite_differences(value_loss); }

// Both ways give trunk and head the same gradient of the value loss.
TEST(ValuePass, AJointPassAddsTheCriticsOwnGradient) {
  const ThreadCount one_thread{1};
  const HeadOnPolicy model(at::kDouble);
  const Batch batch = critic_batch();
  const std::vector<at::Tensor> leaves = model.leaves();
  joint_loss(model, batch, 1000);
  const std::vector<at::Tensor> joint = take_gradients(leaves);
  clear_gradients(leaves);
  value_loss(model, batch, 1000);
  LossConfig objective = joint_objective();
  objective.value_coef = 0.0;
  accumulate_policy_gradient(*model.policy, batch.groups, objective, {.tokens_per_microbatch = 1000});
  const std::vector<at::Tensor> apart = take_gradients(leaves);
  for (size_t i = 0; i < leaves.size(); ++i)
    EXPECT_LT((joint[i] - apart[i]).norm().item<double>(), 1e-10 * joint[i].norm().item<double>()) << i;
}

TEST(ValuePass, AHeadAloneLeavesTheTrunkWithoutGradient) {
  const HeadOnPolicy model(at::kFloat);
  const Batch batch = critic_batch();
  value_loss(model, batch, 1000);
  const at::Tensor with_trunk = model.head.weight().grad().clone();
  clear_gradients(model.leaves());
  ValueLoss loss = kValueLoss;
  loss.trains_trunk = false;
  accumulate_value_gradient(*model.policy, model.head, batch.groups, loss, {.tokens_per_microbatch = 1000});
  for (const at::Tensor& leaf : model.policy->parameters()) EXPECT_FALSE(leaf.grad().defined());
  EXPECT_TRUE(at::equal(model.head.weight().grad(), with_trunk));
}

void expect_cutting_changes_nothing(at::ScalarType dtype, double tolerance, LossOf loss_of) {
  const Batch batch = critic_batch();
  const HeadOnPolicy model(dtype, "LlamaForCausalLM");
  const std::vector<at::Tensor> leaves = model.leaves();
  const double whole_loss = loss_of(model, batch, 1000);
  const std::vector<at::Tensor> whole = take_gradients(leaves);
  for (const int64_t max_rows : {30, 1}) {
    clear_gradients(leaves);
    EXPECT_NEAR(loss_of(model, batch, max_rows), whole_loss,
                rounding_bound(300) * (1 + std::abs(whole_loss)));
    const std::vector<at::Tensor> cut = take_gradients(leaves);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!whole[i].defined()) continue;
      EXPECT_LT((cut[i] - whole[i]).norm().item<double>(), tolerance * whole[i].norm().item<double>()) << i;
    }
  }
}

TEST(ValuePass, CuttingChangesNothing) {
  for (const auto& [dtype, tolerance] : {std::pair(at::kFloat, 1e-5), std::pair(at::kBFloat16, 2e-2)}) {
    expect_cutting_changes_nothing(dtype, tolerance, joint_loss);
    expect_cutting_changes_nothing(dtype, tolerance, value_loss);
  }
}

TEST(ValuePass, ValuesAreTheScoresOfTheRowsThatPredict) {
  const ThreadCount one_thread{1};
  const HeadOnPolicy model(at::kFloat);
  Batch batch = critic_batch();
  fill_values(*model.policy, model.head, batch.groups, {.tokens_per_microbatch = 12});
  for (const Group& group : batch.groups) {
    for (const Sample& sample : group.samples) {
      const std::vector<int32_t>& prompt = group.prompt.token_ids;
      const std::vector<int32_t>& tokens = sample.completion.token_ids;
      std::vector<int64_t> sequence(prompt.begin(), prompt.end());
      sequence.insert(sequence.end(), tokens.begin(), tokens.end());
      const auto count = std::ssize(sequence);
      std::vector<int64_t> positions(count);
      std::iota(positions.begin(), positions.end(), 0);
      const at::NoGradGuard no_grad;
      DecoderInput input;
      input.set_rows(sequence, positions, at::kCPU);
      input.plan.add_sequence(0, count, 0, {{0, count}});
      const at::Tensor rows =
          model.policy->head_input(model.policy->forward(input), at::arange(count, at::kLong));
      const at::Tensor scores = at::linear(rows, model.head.weight(), model.head.bias());
      ASSERT_EQ(sample.values.size(), tokens.size());
      for (size_t t = 0; t < tokens.size(); ++t) {
        const auto row = static_cast<int64_t>(prompt.size() + t) - 1;
        EXPECT_NEAR(sample.values[t], scores[row][0].item<float>(), 1e-4) << tokens.size() << " " << t;
      }
    }
  }
}

// Of a value that moved from 0.5 to 0.9 within 0.2: clipped to 0.7. Toward the return 1: 0.5 * 0.3^2 instead
// of 0.5 * 0.1^2.
TEST(ValuePass, RecordsTheClippedLoss) {
  LossMetrics metrics;
  record_value_loss(at::tensor({0.9, 0.6}), at::tensor({0.5, 0.5}), at::tensor({1.0, 0.0}), 0.2, metrics);
  const auto values = metrics.values();
  EXPECT_NEAR(values.at("critic/vf_loss"), (0.5 * 0.09 + 0.5 * 0.36) / 2, 1e-6);
  EXPECT_EQ(values.at("critic/vf_clipfrac"), 0.5);
}

}  // namespace
}  // namespace cohort
