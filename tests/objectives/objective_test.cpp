#include "cohort/objectives/objective.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/objectives/aggregate.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

struct Batch {
  ObjectiveConfig config;
  ObjectiveInput input;
};

const Json& golden() {
  static const Json value = read_json(COHORT_SOURCE_DIR "/tests/objectives/golden/trl.json");
  return value;
}

Batch batch_of(const Json& test) {
  Batch batch;
  batch.config.loss_type = test["loss_type"].get<std::string>();
  batch.config.beta = test["beta"].get<double>();
  batch.config.epsilon = test["epsilon"].get<double>();
  batch.config.epsilon_high = test["epsilon_high"].get<double>();
  const auto lengths = golden()["lengths"].get<std::vector<int64_t>>();
  const auto advantages = golden()["advantages"].get<std::vector<double>>();
  const BatchCounts counts = count_batch(lengths);
  std::vector<double> token_advantages, weights;
  for (size_t i = 0; i < lengths.size(); ++i) {
    token_advantages.insert(token_advantages.end(), lengths[i], advantages[i]);
    weights.insert(weights.end(), lengths[i],
                   token_weight(parse_loss_type(batch.config.loss_type), lengths[i], counts,
                                golden()["max_completion_length"].get<int64_t>()));
  }
  batch.input.policy_logprobs = doubles(test["policy_logprobs"].get<std::vector<double>>()).requires_grad_();
  batch.input.old_logprobs = doubles(test["old_logprobs"].get<std::vector<double>>());
  if (batch.config.beta != 0)
    batch.input.ref_logprobs = doubles(test["ref_logprobs"].get<std::vector<double>>());
  batch.input.advantages = doubles(token_advantages);
  batch.input.token_weights = doubles(weights);
  batch.input.completion_lengths = lengths;
  return batch;
}

/// The tokens of completions [begin, end), as their own micro-batch.
ObjectiveInput micro_batch(const ObjectiveInput& input, int64_t begin, int64_t end) {
  int64_t first = 0, count = 0;
  for (int64_t i = 0; i < end; ++i) (i < begin ? first : count) += input.completion_lengths[i];
  ObjectiveInput part;
  part.policy_logprobs = input.policy_logprobs.narrow(0, first, count);
  part.old_logprobs = input.old_logprobs.narrow(0, first, count);
  if (input.ref_logprobs.defined()) part.ref_logprobs = input.ref_logprobs.narrow(0, first, count);
  part.advantages = input.advantages.narrow(0, first, count);
  part.token_weights = input.token_weights.narrow(0, first, count);
  part.completion_lengths = {input.completion_lengths.begin() + begin,
                             input.completion_lengths.begin() + end};
  return part;
}

void expect_metrics(const ObjectiveMetrics& metrics, const Json& expected) {
  // TRL averages float32 masks.
  EXPECT_NEAR(metrics.low_mean(), expected["clip_ratio/low_mean"].get<double>(), 1e-7);
  EXPECT_NEAR(metrics.high_mean(), expected["clip_ratio/high_mean"].get<double>(), 1e-7);
  EXPECT_NEAR(metrics.region_mean(), expected["clip_ratio/region_mean"].get<double>(), 1e-7);
  EXPECT_NEAR(metrics.low_min(), expected["clip_ratio/low_min"].get<double>(), 1e-7);
  EXPECT_NEAR(metrics.high_max(), expected["clip_ratio/high_max"].get<double>(), 1e-7);
  EXPECT_NEAR(metrics.kl_mean(), expected.value("kl", 0.0), 1e-7);
}

TEST(Objective, LossGradientAndMetricsOfTrl) {
  ASSERT_EQ(golden()["loss_cases"].size(), 6u);
  for (const Json& test : golden()["loss_cases"]) {
    SCOPED_TRACE(test["loss_type"].get<std::string>());
    const Batch batch = batch_of(test);
    const ObjectiveOutput output = grpo_objective(batch.input, batch.config);
    output.loss.backward();
    EXPECT_NEAR(output.loss.item<double>(), test["loss"].get<double>(), 1e-12);
    EXPECT_EQ(output.metrics.loss, output.loss.item<double>());
    const at::Tensor expected = doubles(test["gradient"].get<std::vector<double>>());
    EXPECT_LT((batch.input.policy_logprobs.grad() - expected).abs().max().item<double>(), 1e-12);
    expect_metrics(output.metrics, test["metrics"]);
  }
}

TEST(Objective, CuttingTheBatchChangesNothing) {
  for (const Json& test : golden()["loss_cases"]) {
    const Batch batch = batch_of(test);
    ObjectiveMetrics sum;
    for (auto [begin, end] : {std::pair{0, 1}, {1, 3}, {3, 4}}) {
      const ObjectiveOutput part = grpo_objective(micro_batch(batch.input, begin, end), batch.config);
      part.loss.backward();
      sum.add(part.metrics);
    }
    EXPECT_NEAR(sum.loss, test["loss"].get<double>(), 1e-12);
    const at::Tensor expected = doubles(test["gradient"].get<std::vector<double>>());
    EXPECT_LT((batch.input.policy_logprobs.grad() - expected).abs().max().item<double>(), 1e-12);
    expect_metrics(sum, test["metrics"]);
  }
}

TEST(Objective, GradientAgreesWithFiniteDifferences) {
  for (const Json& test : golden()["loss_cases"]) {
    const Batch batch = batch_of(test);
    const at::Tensor& policy = batch.input.policy_logprobs;
    grpo_objective(batch.input, batch.config).loss.backward();
    for (int64_t t = 0; t < policy.size(0); ++t) {
      const double step = 1e-6;
      const auto shifted_loss = [&](double shift) {
        ObjectiveInput input = batch.input;
        input.policy_logprobs = policy.detach().clone();
        input.policy_logprobs[t] += shift;
        return grpo_objective(input, batch.config).metrics.loss;
      };
      const double slope = (shifted_loss(step) - shifted_loss(-step)) / (2 * step);
      EXPECT_NEAR(policy.grad()[t].item<double>(), slope, 1e-8) << t;
    }
  }
}

TEST(Objective, OnPolicyGradientIsMinusAdvantageTimesWeight) {
  Batch batch = batch_of(golden()["loss_cases"][0]);
  batch.input.old_logprobs = batch.input.policy_logprobs.detach();
  const ObjectiveOutput output = grpo_objective(batch.input, batch.config);
  output.loss.backward();
  EXPECT_TRUE(
      at::equal(batch.input.policy_logprobs.grad(), -batch.input.advantages * batch.input.token_weights));
  EXPECT_EQ(output.metrics.region_mean(), 0.0);
}

TEST(Objective, SkippedCompletionsCountInTheShares) {
  ObjectiveMetrics metrics;
  EXPECT_EQ(metrics.low_min(), 0.0);
  metrics.num_tokens = 6;
  metrics.num_low_clipped = 3;
  metrics.smallest_low_share = 0.5;
  metrics.add_skipped_completion(0);
  EXPECT_DOUBLE_EQ(metrics.low_min(), 0.5);
  metrics.add_skipped_completion(4);
  EXPECT_DOUBLE_EQ(metrics.low_mean(), 0.3);
  EXPECT_DOUBLE_EQ(metrics.low_min(), 0.0);
}

TEST(Objective, ShapesAreChecked) {
  Batch batch = batch_of(golden()["loss_cases"][0]);
  batch.config.beta = 0.1;
  EXPECT_THROW(grpo_objective(batch.input, batch.config), InternalError);
  batch.config.beta = 0.0;
  batch.input.completion_lengths.pop_back();
  EXPECT_THROW(grpo_objective(batch.input, batch.config), InternalError);
}

}  // namespace
}  // namespace cohort
