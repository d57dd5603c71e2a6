// The loss against TRL 1.16's own code, frozen in golden/trl.json by tools/make_golden/objectives.py.
#include <gtest/gtest.h>

#include "cohort/core/json.h"
#include "cohort/objectives/loss.h"
#include "cohort/objectives/whole_batch.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

struct Batch {
  LossConfig config;
  LossInput input;
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
  batch.config.max_completion_length = golden()["max_completion_length"].get<int64_t>();
  batch.input.lengths = golden()["lengths"].get<std::vector<int64_t>>();
  batch.input.advantages = doubles(golden()["advantages"].get<std::vector<double>>());
  batch.input.policy_logprobs = doubles(test["policy_logprobs"].get<std::vector<double>>()).requires_grad_();
  batch.input.old_logprobs = doubles(test["old_logprobs"].get<std::vector<double>>());
  if (batch.config.beta != 0)
    batch.input.ref_logprobs = doubles(test["ref_logprobs"].get<std::vector<double>>());
  batch.input.group_ends = {std::ssize(batch.input.lengths)};
  return batch;
}

void expect_of_trl(const Json& test, const at::Tensor& gradient, const LossMetrics& metrics) {
  std::map<std::string, double> values = metrics.values();
  EXPECT_NEAR(values["loss"], test["loss"].get<double>(), 1e-12);
  const at::Tensor expected = doubles(test["gradient"].get<std::vector<double>>());
  EXPECT_LT((gradient - expected).abs().max().item<double>(), 1e-12);
  // TRL averages float32 masks.
  for (const auto& [name, value] : test["metrics"].items())
    EXPECT_NEAR(values.at(name), value.get<double>(), 1e-7) << name;
}

TEST(LossOfTrl, LossGradientAndMetrics) {
  ASSERT_EQ(golden()["loss_cases"].size(), 6u);
  for (const Json& test : golden()["loss_cases"]) {
    SCOPED_TRACE(test["loss_type"].get<std::string>());
    const Batch batch = batch_of(test);
    const LossOutput output = policy_loss(batch.input, batch.config);
    output.loss.backward();
    EXPECT_EQ(output.metrics.values().at("loss"), output.loss.item<double>());
    expect_of_trl(test, batch.input.policy_logprobs.grad(), output.metrics);
  }
}

TEST(LossOfTrl, CuttingTheBatchChangesNothing) {
  for (const Json& test : golden()["loss_cases"]) {
    Batch batch = batch_of(test);
    batch.input.whole = whole_batch_of(batch.input, batch.config);
    LossMetrics sum;
    // Any completions together, not only neighbours.
    for (const std::vector<int64_t>& chosen : {std::vector<int64_t>{0, 3}, {1}, {2}}) {
      const LossInput part = select_completions(batch.input, chosen);
      const LossOutput output = policy_loss(part, batch.config);
      output.loss.backward();
      sum.add(output.metrics);
    }
    expect_of_trl(test, batch.input.policy_logprobs.grad(), sum);
  }
}

TEST(LossOfTrl, AnEmptyBatchSaysTheSameThings) {
  LossInput nothing;
  nothing.policy_logprobs = nothing.advantages = nothing.old_logprobs = doubles({});
  LossMetrics metrics = policy_loss(nothing, {}).metrics;
  for (const auto& [name, value] : metrics.values()) EXPECT_EQ(value, 0.0) << name;
  for (const auto& [name, value] : golden()["loss_cases"][0]["metrics"].items())
    EXPECT_TRUE(metrics.values().contains(name)) << name;
  metrics.add_mean("clip_ratio/low_mean", 3.0, 6.0);
  metrics.add_smallest("clip_ratio/low_min", 0.5);
  EXPECT_EQ(metrics.values().at("clip_ratio/low_mean"), 0.5);
  EXPECT_EQ(metrics.values().at("clip_ratio/low_min"), 0.5);
}

}  // namespace
}  // namespace cohort
