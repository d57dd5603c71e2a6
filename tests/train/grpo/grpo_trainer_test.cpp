// GrpoTrainer::step as a whole: what it draws, credits and learns, against the objective written out.
#include "cohort/train/grpo/grpo_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "cohort/train/grpo/step_metrics.h"
#include "tests/core/test_files.h"
#include "tests/train/documented_metrics.h"
#include "tests/train/written_grpo.h"

namespace cohort {
namespace {

/// A step's metrics by name, each once.
std::map<std::string, double> by_name(const Metrics& metrics) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : metrics) EXPECT_TRUE(values.emplace(name, value).second) << name;
  return values;
}

TEST(GrpoTrainer, AStepIsTheWrittenUpdateOfItsBatch) {
  TinyGrpo run(smooth_config());
  WrittenOut written(run.config);
  const std::vector<at::Tensor> start = run.weights();
  for (int64_t step = 1; step <= 2; ++step) {
    const StepReport report = run.trainer->step(step);
    ASSERT_TRUE(report.batch);
    const Batch& batch = *report.batch;
    ASSERT_EQ(batch.groups.size(), 2u);
    EXPECT_EQ(batch.step, step);
    EXPECT_EQ(batch.groups[1].prompt.id, std::to_string(2 * step - 1));
    for (const Group& group : batch.groups) {
      ASSERT_EQ(group.samples.size(), 4u);
      const std::vector<double> advantages = written_advantages(group);
      for (size_t i = 0; i < 4; ++i) {
        const Sample& sample = group.samples[i];
        EXPECT_EQ(sample.reward, even_share(group.prompt, sample.completion).score);
        EXPECT_NEAR(sample.advantage, advantages[i], 1e-9);
        EXPECT_EQ(sample.completion.policy_version(), step - 1);
      }
    }
    const double norm = written.update(batch.groups);
    EXPECT_NEAR(find_metric(report.metrics, "grad_norm"), norm, 1e-4 * norm);
    expect_same_move(run, written, start);
    EXPECT_EQ(report.completions.size(), 8u);
    EXPECT_TRUE(report.is_finite);
    EXPECT_EQ(report.stop_reason, "");
  }
  EXPECT_EQ(run.optimizer.num_updates(), 2);
}

TEST(GrpoTrainer, MetricsHaveTheDocumentedNames) {
  TinyGrpo run(tiny_grpo_config());
  const StepReport report = run.trainer->step(1);
  const auto metrics = by_name(report.metrics), timings = by_name(report.timings);
  for (const auto& [name, value] : metrics) EXPECT_TRUE(is_documented(name)) << name;
  for (const auto& [name, value] : timings) EXPECT_TRUE(is_documented(name)) << name;
  EXPECT_FALSE(is_documented("reward_mean"));
  for (const char* name : {"reward",
                           "reward_std",
                           "frac_reward_zero_std",
                           "rewards/mine/mean",
                           "rewards/mine/error",
                           "completions/mean_length",
                           "completions/clipped_ratio",
                           "completions/length_variation",
                           "entropy",
                           "loss",
                           "policy_loss",
                           "ratio/mean",
                           "clip_ratio/region_mean",
                           "grad_norm",
                           "learning_rate",
                           "epoch",
                           "num_tokens",
                           "skipped_steps",
                           "sampling/sampling_logp_difference/max",
                           "rows/completion"})
    EXPECT_TRUE(metrics.contains(name)) << name;
  for (const char* name : {"timing_s/gen", "timing_s/reward", "timing_s/adv", "timing_s/update_actor",
                           "step_time", "perf/throughput"})
    EXPECT_TRUE(timings.contains(name)) << name;
  EXPECT_GT(timings.at("timing_s/gen/prefill"), 0.0);
  EXPECT_GT(timings.at("timing_s/gen/decode"), 0.0);
  EXPECT_LT(timings.at("timing_s/gen/prefill") + timings.at("timing_s/gen/decode"),
            timings.at("timing_s/gen"));
  EXPECT_EQ(metrics.at("sampling/sampling_logp_difference/max"), 0.0);
  EXPECT_EQ(metrics.at("num_tokens"), static_cast<double>(total_tokens(*report.batch)));
  EXPECT_EQ(metrics.at("learning_rate"), run.config.optimizer.learning_rate);
}

// The reward of a completion that was cut counts in its group's statistics, and it counts as a completion.
TEST(GrpoTrainer, TruncatedCompletionsGetNoGradient) {
  TrainConfig config = smooth_config();
  config.objective.mask_truncated_completions = true;
  TinyGrpo run(config);
  WrittenOut written(config);
  const std::vector<at::Tensor> start = run.weights();
  const Batch batch = *run.trainer->step(1).batch;
  int64_t num_masked = 0;
  for_each_sample(batch.groups, [&](const Sample& sample) {
    const bool is_cut = sample.completion.finish_reason == FinishReason::kLength;
    EXPECT_EQ(sample.mask, is_cut ? LossMask::kTruncated : LossMask::kNone);
    num_masked += is_cut;
  });
  ASSERT_TRUE(num_masked > 0 && num_masked < 8) << num_masked;
  written.update(batch.groups);
  expect_same_move(run, written, start);
}

TEST(GrpoTrainer, GroupsWithoutDifferenceTeachNothing) {
  TinyGrpo run(smooth_config(),
               scored_by([](int64_t prompt, int64_t sample) { return prompt == 0 ? 1.0 : 1.0 * sample; }));
  WrittenOut written(run.config);
  const std::vector<at::Tensor> start = run.weights();
  const StepReport report = run.trainer->step(1);
  EXPECT_TRUE(report.batch->groups[0].has_no_difference);
  EXPECT_FALSE(report.batch->groups[1].has_no_difference);
  EXPECT_EQ(find_metric(report.metrics, "frac_reward_zero_std"), 0.5);
  EXPECT_EQ(find_metric(report.metrics, "rows/prompt"), 2.0) << "the group was forwarded";
  written.update(report.batch->groups);
  expect_same_move(run, written, start);
}

TEST(GrpoTrainer, AStepWithoutDifferenceLeavesTheWeights) {
  TinyGrpo run(tiny_grpo_config(), scored_by([](int64_t, int64_t) { return 0.5; }));
  const std::vector<at::Tensor> start = run.weights();
  const StepReport report = run.trainer->step(1);
  EXPECT_TRUE(are_equal(run.weights(), start));
  EXPECT_EQ(find_metric(report.metrics, "grad_norm"), 0.0);
  EXPECT_EQ(find_metric(report.metrics, "loss"), 0.0);
  EXPECT_EQ(find_metric(report.metrics, "frac_reward_zero_std"), 1.0);
  EXPECT_EQ(find_metric(report.metrics, "rows/completion"), 0.0);
}

// MC-GRPO: the median counts in the statistics, and the loss is a mean over the four others of each group.
TEST(GrpoTrainer, APivotIsTakenOutOfTheBatch) {
  TrainConfig config = smooth_config();
  config.rollout.num_generations = 5;
  config.objective.advantages.baseline = "group_median";
  config.objective.advantages.scale_rewards = "none";
  TinyGrpo with(config, scored_by([](int64_t, int64_t sample) { return 0.1 * ((2 * sample) % 5); }));
  config.objective.advantages.drop_pivot = true;
  TinyGrpo without(config, scored_by([](int64_t, int64_t sample) { return 0.1 * ((2 * sample) % 5); }));
  const StepReport all = with.trainer->step(1), rest = without.trainer->step(1);
  ASSERT_EQ(rest.batch->untrained.size(), 2u);
  for (size_t g = 0; g < 2; ++g) {
    const UntrainedGroup& pivots = rest.batch->untrained[g];
    EXPECT_EQ(pivots.of, static_cast<int64_t>(g));
    ASSERT_EQ(pivots.group.samples.size(), 1u);
    EXPECT_EQ(pivots.group.samples[0].completion.sample, 1);  // 0 2 4 1 3 tenths
    EXPECT_EQ(rest.batch->groups[g].samples.size(), 4u);
    EXPECT_EQ(rest.batch->groups[g].samples[1].advantage, all.batch->groups[g].samples[2].advantage);
  }
  const double norm = find_metric(all.metrics, "grad_norm");
  EXPECT_NEAR(find_metric(rest.metrics, "grad_norm"), 5.0 / 4.0 * norm, 1e-5 * norm);
  EXPECT_EQ(rest.completions.size(), 10u);
  // The batch that is left gives the same advantages again.
  Batch again = *rest.batch;
  assign_credit(again, config.objective.advantages);
  for (size_t g = 0; g < 2; ++g) {
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(again.groups[g].samples[i].advantage, rest.batch->groups[g].samples[i].advantage);
  }
}

TEST(GrpoTrainer, DynamicSamplingDrawsOthersInTheirPlace) {
  TrainConfig config = tiny_grpo_config();
  config.rollout.dynamic_sampling = true;
  TinyGrpo run(
      config, scored_by([](int64_t prompt, int64_t sample) { return prompt % 2 == 0 ? 1.0 : 1.0 * sample; }));
  const StepReport report = run.trainer->step(1);
  EXPECT_EQ(report.batch->groups[0].prompt.id, "1");
  EXPECT_EQ(report.batch->groups[1].prompt.id, "3");
  EXPECT_EQ(find_metric(report.metrics, "rollout/no_difference"), 2.0);
  EXPECT_EQ(find_metric(report.metrics, "frac_reward_zero_std"), 0.0);
  for (const auto& [name, value] : report.metrics) EXPECT_TRUE(is_documented(name)) << name;
  EXPECT_EQ(find_metric(report.metrics, "num_tokens"), static_cast<double>(total_tokens(*report.batch)));
}

// The second pass has the log-probabilities before the first one in its ratio.
TEST(GrpoTrainer, IterationsReuseTheBatch) {
  TrainConfig config = smooth_config();
  config.objective.num_iterations = 2;
  TinyGrpo run(config);
  WrittenOut written(config);
  const std::vector<at::Tensor> start = run.weights();
  const StepReport report = run.trainer->step(1);
  EXPECT_EQ(run.prompts.save(), Json(2)) << "prompts drawn";
  EXPECT_EQ(run.optimizer.num_updates(), 2);
  EXPECT_EQ(GrpoTrainer::updates_per_step(config), 2);
  written.update(report.batch->groups);
  const double norm = written.update(report.batch->groups);
  expect_same_move(run, written, start);
  EXPECT_NEAR(find_metric(report.metrics, "grad_norm"), norm, 1e-4 * norm) << "of the last update";
  EXPECT_GT(find_metric(report.metrics, "ratio/max"), 1.0 + 1e-3);
  EXPECT_EQ(find_metric(report.metrics, "sampling/sampling_logp_difference/max"), 0.0) << "of the first";
}

TEST(GrpoTrainer, EachMiniBatchHasItsUpdate) {
  TrainConfig config = smooth_config();
  config.train.steps_per_generation = 2;
  TinyGrpo run(config);
  WrittenOut written(config);
  const std::vector<at::Tensor> start = run.weights();
  const StepReport report = run.trainer->step(1);
  const std::span<const Group> groups(report.batch->groups);
  written.update(groups.first(1));
  written.update(groups.last(1));
  expect_same_move(run, written, start);
  EXPECT_EQ(run.optimizer.num_updates(), 2);
}

// Advantages near the largest float: the loss is finite, and behind the norm of tiny embeddings the gradient
// is not.
TEST(GrpoTrainer, AGradientThatIsNotFiniteSkipsTheUpdate) {
  TrainConfig config = tiny_grpo_config();
  config.objective.advantages.scale_rewards = "none";
  bool is_huge = true;
  TinyGrpo run(config, judged_by([&](const Prompt& prompt, const Completion& completion) {
                 RewardResult result = even_share(prompt, completion);
                 if (is_huge) result.score = completion.sample % 2 == 0 ? 1e38 : -1e38;
                 return result;
               }));
  const at::NoGradGuard no_grad;
  for (const auto& [name, weight] : run.policy->named_weights()) {
    if (name == "model.embed_tokens.weight") weight.mul_(1e-6);
  }
  run.policy->refresh();
  const std::vector<at::Tensor> start = run.weights();
  const StepReport skipped = [&] {
    const at::AutoGradMode with_grad(true);
    return run.trainer->step(1);
  }();
  EXPECT_TRUE(std::isfinite(find_metric(skipped.metrics, "loss")));
  EXPECT_FALSE(std::isfinite(find_metric(skipped.metrics, "grad_norm")));
  EXPECT_FALSE(skipped.is_finite);
  EXPECT_EQ(skipped.nonfinite.size(), 8u);
  EXPECT_TRUE(are_equal(run.weights(), start));
  EXPECT_EQ(run.optimizer.num_updates(), 0);
  EXPECT_EQ(find_metric(skipped.metrics, "skipped_steps"), 1.0);
  is_huge = false;
  const at::AutoGradMode with_grad(true);
  const StepReport next = run.trainer->step(2);
  EXPECT_TRUE(next.is_finite);
  EXPECT_EQ(run.optimizer.num_updates(), 1);
  EXPECT_FALSE(are_equal(run.weights(), start));
  EXPECT_EQ(find_metric(next.metrics, "skipped_steps"), 1.0);
}

TEST(GrpoTrainer, ALossThatIsNotFiniteSkipsTheUpdate) {
  TrainConfig config = tiny_grpo_config();
  config.objective.loss.beta = 0.1;
  TinyGrpo run(config);
  {
    const at::NoGradGuard no_grad;
    run.reference->parameters().front().fill_(std::nan(""));
    run.reference->refresh();
  }
  const std::vector<at::Tensor> start = run.weights();
  const StepReport report = run.trainer->step(1);
  EXPECT_FALSE(report.is_finite);
  EXPECT_FALSE(report.nonfinite.empty());
  EXPECT_TRUE(are_equal(run.weights(), start));
  EXPECT_EQ(run.optimizer.num_updates(), 0);
}

// Where sampler and trainer agree, computing the old log-probabilities changes no bit.
TEST(GrpoTrainer, AnInexactPlatformHasItsOwnOldLogprobs) {
  TinyGrpo exact(tiny_grpo_config()), inexact(tiny_grpo_config());
  inexact.trainer->assume_exact(false);
  const StepReport one = exact.trainer->step(1), other = inexact.trainer->step(1);
  for_each_sample(one.batch->groups, [](const Sample& sample) { EXPECT_TRUE(sample.old_logprobs.empty()); });
  for_each_sample(other.batch->groups, [](const Sample& sample) {
    EXPECT_EQ(sample.old_logprobs, sample.completion.sampler_logprobs);
  });
  EXPECT_TRUE(by_name(other.timings).contains("timing_s/old_log_prob"));
  EXPECT_FALSE(by_name(one.timings).contains("timing_s/old_log_prob"));
  EXPECT_TRUE(are_equal(exact.weights(), inexact.weights()));
}

TEST(GrpoTrainer, GoesOnFromWhatWasSaved) {
  TrainConfig config = tiny_grpo_config();
  config.objective.loss.beta = 0.05;
  config.objective.control.use_adaptive_beta = true;
  TinyGrpo whole(config), first(config), second(config);
  for (int64_t step = 1; step <= 3; ++step) whole.trainer->step(step);
  first.trainer->step(1);
  const TemporaryDirectory directory;
  const std::filesystem::path checkpoint = std::filesystem::path(directory.path()) / "checkpoint";
  const auto parts = [](TinyGrpo& run) {
    return std::vector<TrainedPart>{{"", run.policy->trained_weights(), &run.optimizer}};
  };
  save_checkpoint(checkpoint.string() + ".new", checkpoint, parts(first), first.trainer->save());
  second.trainer->load(load_checkpoint(checkpoint, parts(second)));
  second.policy->refresh();
  second.trainer->step(2);
  const StepReport last = second.trainer->step(3);
  EXPECT_TRUE(are_equal(second.weights(), whole.weights()));
  EXPECT_EQ(second.trainer->save(), whole.trainer->save());
  EXPECT_EQ(last.batch->groups[0].prompt.id, "4");
}

TEST(GrpoTrainer, RewardsThatFailOnEverythingEndTheRun) {
  TinyGrpo run(tiny_grpo_config(), judged_by([](const Prompt&, const Completion&) {
                 return RewardResult{0.0, RewardStatus::kError, "broken"};
               }));
  const std::vector<at::Tensor> start = run.weights();
  const StepReport first = run.trainer->step(1);
  EXPECT_EQ(first.stop_reason, "");
  EXPECT_TRUE(std::isnan(by_name(first.metrics).at("reward")));
  EXPECT_EQ(find_metric(first.metrics, "rewards/mine/error"), 8.0);
  const StepReport second = run.trainer->step(2);
  EXPECT_EQ(second.stop_reason,
            "reward mine failed on all of its 16 completions in 2 steps; the last one: error, broken");
  EXPECT_TRUE(are_equal(run.weights(), start));
}

}  // namespace
}  // namespace cohort
