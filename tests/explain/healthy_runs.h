// Runs that learn, in several shapes, for tests that rules say nothing about them.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/explain/run_builder.h"

namespace cohort {

/// How a healthy reward goes.
enum class HealthyShape { kLine, kSaturating, kLate, kSolved, kGrowingLength, kUpdates };
constexpr HealthyShape kHealthyShapes[] = {HealthyShape::kLine,          HealthyShape::kSaturating,
                                           HealthyShape::kLate,          HealthyShape::kSolved,
                                           HealthyShape::kGrowingLength, HealthyShape::kUpdates};

/// The mean reward at a share of the run from 0 to 1.
inline double healthy_reward(HealthyShape shape, double x) {
  switch (shape) {
    case HealthyShape::kSaturating:
      return 0.15 + 0.5 * (1.0 - std::exp(-4.0 * x));
    case HealthyShape::kLate:
      return 0.08 + 0.5 / (1.0 + std::exp(-12.0 * (x - 0.5)));
    case HealthyShape::kSolved:
      return 0.3 + 0.69 * std::min(1.0, 1.6 * x);
    default:
      return 0.1 + 0.35 * x;
  }
}

/// Settings that rules name.
inline void set_recipe(RunBuilder& run) {
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"model.dtype", "\"float32\""},
                                          {"rollout.prompts_per_step", "16"},
                                          {"rollout.num_generations", "8"},
                                          {"rollout.max_completion_length", "512"},
                                          {"rollout.temperature", "1.0"},
                                          {"rollout.dynamic_sampling", "false"},
                                          {"rollout.min_tokens", "0"},
                                          {"rollout.prompts_ahead", "0"},
                                          {"objective.baseline", "\"group_mean\""},
                                          {"objective.beta", "0.04"},
                                          {"objective.epsilon", "0.2"},
                                          {"objective.importance_sampling_level", "\"token\""},
                                          {"optimizer.learning_rate", "1e-5"},
                                          {"optimizer.max_grad_norm", "1.0"},
                                          {"optimizer.warmup_steps", "0"},
                                          {"train.max_steps", "100"},
                                          {"run.dir", "\"runs/x\""}}) {
    run.set(key, value);
  }
  run.rewards.push_back({{"name", "\"accuracy\""}, {"type", "\"accuracy\""}, {"weight", "1.0"}});
}

/// A run of GRPO that learns, with the noise of 16 x 8 completions a step.
inline void make_healthy(RunBuilder& run, HealthyShape shape, uint64_t seed) {
  set_recipe(run);
  const int64_t steps = run.num_steps;
  const auto share = [steps](int64_t step) {
    return static_cast<double>(step) / static_cast<double>(std::max<int64_t>(1, steps - 1));
  };
  const auto rises = [=](int64_t step) { return healthy_reward(shape, share(step)); };
  const auto spread = [=](int64_t step) { return std::sqrt(rises(step) * (1.0 - rises(step))); };
  const CurveShape reward = [=](int64_t step) {
    return noisy(rises, 0.1 * spread(step), seed, 0.0, 1.0)(step);
  };
  run.metrics["reward"] = reward;
  run.metrics["rewards/accuracy/mean"] = reward;
  run.metrics["reward_std"] = run.metrics["rewards/accuracy/std"] = noisy(spread, 0.02, seed + 1, 0.01);
  run.metrics["rewards/accuracy/weight"] = constant(1.0);
  run.metrics["rewards/accuracy/correlation"] = constant(1.0);
  for (const char* status : {"unparsed", "timeout", "error", "sandbox_error", "skipped"})
    run.metrics[std::string("rewards/accuracy/") + status] = constant(0.0);
  const auto alike = [=](int64_t step) { return std::pow(rises(step), 8) + std::pow(1.0 - rises(step), 8); };
  run.metrics["frac_reward_zero_std"] = noisy(alike, 0.1, seed + 2, 0.0, 1.0);
  const double grows = shape == HealthyShape::kGrowingLength ? 2.2 : 0.2;
  run.metrics["completions/mean_length"] =
      noisy([=](int64_t step) { return 120.0 * (1.0 + grows * share(step)); }, 8.0, seed + 3, 1.0);
  run.metrics["completions/clipped_ratio"] = noisy(constant(0.03), 0.02, seed + 4, 0.0, 1.0);
  const CurveShape entropy = [=](int64_t step) { return 0.6 - 0.4 * std::sqrt(share(step)); };
  run.metrics["entropy"] = [=, noise = noisy(entropy, 0.04, seed + 5, 0.02)](int64_t step) {
    return reward(step) <= 0.0 ? std::nan("") : noise(step);  // no group differs
  };
  run.metrics["kl"] = noisy(line(0.0, 0.08, steps), 0.004, seed + 6, 0.0);
  run.metrics["grad_norm"] = [=, noise = noisy(constant(0.3), 0.08, seed + 7, 0.02)](int64_t step) {
    return step % 17 == 5 ? 3.0 * noise(step) : noise(step);  // single peaks are healthy
  };
  run.metrics["learning_rate"] = line(1e-5, 0.0, steps);
  run.metrics["skipped_steps"] = constant(0.0);
  const bool has_updates = shape == HealthyShape::kUpdates;
  run.metrics["clip_ratio/region_mean"] =
      noisy(constant(has_updates ? 0.05 : 0.0), has_updates ? 0.02 : 0.0, seed + 8, 0.0);
  run.metrics["ratio/max"] = noisy(constant(has_updates ? 3.0 : 1.0), has_updates ? 1.0 : 0.0, seed + 9, 1.0);
  run.metrics["sampling/sampling_logp_difference/max"] = constant(0.0);
  run.metrics["eval_reward"] = [=](int64_t step) {
    return (step + 1) % 10 == 0 ? noisy(rises, 0.04, seed + 10, 0.0, 1.0)(step) : INFINITY;
  };
  run.timings["step_time"] = noisy(constant(4.0), 0.6, seed + 11, 0.5);
  run.timings["timing_s/reward"] = noisy(constant(0.05), 0.02, seed + 12, 0.0);
  run.timings["perf/total_num_tokens"] = noisy(constant(20000.0), 1500.0, seed + 13);
  run.timings["perf/max_memory_allocated_gb"] = [=](int64_t step) {
    return 1.2 + 0.1 * std::min<double>(1.0, static_cast<double>(step) / 6.0);
  };
  for (int64_t prompt = 0; prompt < 8; ++prompt) {
    for (int64_t sample = 0; sample < 8; ++sample)
      run.add_completion(
          steps, prompt, sample,
          "the answer to " + std::to_string(prompt) + " is " + std::to_string(sample + prompt));
  }
}

}  // namespace cohort
