// importance_sampling_mode where the sampler's log-probabilities are not the policy's: the weights change
// while a step is drawn, so that earlier weights sampled its first group.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cohort/train/grpo/step_metrics.h"
#include "tests/train/written_grpo.h"

namespace cohort {
namespace {

void move_weights(Decoder& policy) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& weight : policy.parameters()) weight.mul_(1.02);
  policy.refresh();
}

/// A run whose prompt 0 has no difference, so that prompt 2 takes its place in a second batch. The weights
/// move in between.
struct MovingRun {
  explicit MovingRun(const TrainConfig& config)
      : run(config,
            scored_by([](int64_t prompt, int64_t sample) { return prompt == 0 ? 0.0 : 1.0 * sample; })) {
    run.trainer->assume_exact(false);
    run.prompts.on_next = [this] {
      if (num_batches++ == 1) move_weights(*run.policy);
    };
  }

  TinyGrpo run;
  int64_t num_batches = 0;
};

/// Loosely bounded and both bounds acting: the differences of these runs are of about 0.1 nats.
TrainConfig moving_config(const std::string& mode, std::optional<double> low = 0.95,
                          std::optional<double> high = 1.05) {
  TrainConfig config = smooth_config();
  config.rollout.dynamic_sampling = true;
  config.objective.loss.importance_sampling_mode = mode;
  config.objective.loss.importance_sampling_clip_min = low;
  config.objective.loss.importance_sampling_clip_max = high;
  return config;
}

/// exp(old - sampler) of each token, or of all tokens together, held within 0.95 and 1.05.
std::vector<double> corrections_of(const Sample& sample, const std::string& mode) {
  const std::vector<float>&old = sample.policy_logprobs(), &sampler = sample.completion.sampler_logprobs;
  double sum = 0.0;
  for (size_t t = 0; t < old.size(); ++t) sum += static_cast<double>(old[t]) - sampler[t];
  std::vector<double> weights;
  for (size_t t = 0; t < old.size(); ++t) {
    const double ratio =
        std::exp(mode.starts_with("sequence") ? sum : static_cast<double>(old[t]) - sampler[t]);
    const double bounded = std::clamp(ratio, 0.95, 1.05);
    weights.push_back(mode.ends_with("truncate") ? bounded : (bounded == ratio ? ratio : 0.0));
  }
  return weights;
}

class MismatchTest : public testing::TestWithParam<const char*> {};

TEST_P(MismatchTest, TheUpdateIsTheWrittenOne) {
  MovingRun moving(moving_config(GetParam()));
  WrittenOut written(moving.run.config);
  move_weights(*written.policy);
  const StepReport report = moving.run.trainer->step(1);
  const std::vector<Group>& groups = report.batch->groups;
  EXPECT_EQ(groups[0].prompt.id, "1");
  EXPECT_EQ(groups[1].prompt.id, "2");
  for_each_sample(groups, [&](const Sample& sample) {
    const bool is_earlier = &sample <= &groups[0].samples.back() && &sample >= &groups[0].samples.front();
    EXPECT_EQ(sample.old_logprobs == sample.completion.sampler_logprobs, !is_earlier);
  });
  double sum = 0.0, count = 0.0, num_bounded = 0.0;
  const auto corrections = [&](const Sample& sample) { return corrections_of(sample, GetParam()); };
  for_each_sample(groups, [&](const Sample& sample) {
    for (const double weight : corrections(sample)) {
      sum += weight;
      count += 1.0;
      num_bounded += weight == 0.95 || weight == 1.05 || weight == 0.0;
    }
  });
  EXPECT_TRUE(num_bounded > 0.0 && num_bounded < count) << num_bounded << " of " << count;
  EXPECT_NEAR(find_metric(report.metrics, "mismatch/mean"), sum / count, 1e-5);
  const std::vector<at::Tensor> start = [&] {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& weight : written.policy->parameters()) copies.push_back(weight.detach().clone());
    return copies;
  }();
  written.update(groups, corrections);
  expect_same_move(moving.run, written, start);
}

INSTANTIATE_TEST_SUITE_P(Modes, MismatchTest,
                         testing::Values("token_truncate", "token_mask", "sequence_truncate",
                                         "sequence_mask"),
                         [](const auto& test) { return std::string(test.param); });

/// The weights after a step.
std::vector<at::Tensor> weights_after(const TrainConfig& config) {
  MovingRun moving(config);
  moving.run.trainer->step(1);
  return moving.run.weights();
}

TEST(Mismatch, EverySettingOfTheCorrectionActs) {
  const std::vector<at::Tensor> none = weights_after(moving_config("none"));
  EXPECT_TRUE(are_equal(none, weights_after(moving_config("none", 0.5, 2.0)))) << "bounds of no correction";
  const std::vector<at::Tensor> bounded = weights_after(moving_config("token_truncate"));
  EXPECT_FALSE(are_equal(none, bounded));
  EXPECT_FALSE(are_equal(bounded, weights_after(moving_config("token_truncate", std::nullopt))));
  EXPECT_FALSE(are_equal(bounded, weights_after(moving_config("token_truncate", 0.95, 3.0))));
  EXPECT_FALSE(are_equal(bounded, weights_after(moving_config("token_mask"))));
}

// Where the sampler's weights are the policy's, every correction is 1.
TEST(Mismatch, IsNoneWhereTheWeightsAreTheSame) {
  for (const char* mode : {"token_truncate", "token_mask", "sequence_truncate", "sequence_mask"}) {
    TrainConfig plain = moving_config("none"), corrected = moving_config(mode);
    plain.rollout.dynamic_sampling = corrected.rollout.dynamic_sampling = false;
    TinyGrpo one(plain), other(corrected);
    one.trainer->step(1);
    const StepReport report = other.trainer->step(1);
    EXPECT_EQ(find_metric(report.metrics, "mismatch/mean"), 1.0) << mode;
    EXPECT_TRUE(are_equal(one.weights(), other.weights())) << mode;
  }
}

}  // namespace
}  // namespace cohort
