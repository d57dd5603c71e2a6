// GRPO's update as arXiv:2402.03300 writes it, beside which tests hold the trainer's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cohort/train/run/batch_passes.h"
#include "tests/train/tiny_grpo.h"

namespace cohort {

/// The tiny run with an update that is smooth in its gradient: Adam's own divides by the gradient's size.
inline TrainConfig smooth_config() {
  TrainConfig config = tiny_grpo_config();
  config.optimizer.adam_epsilon = 0.1;
  config.optimizer.max_grad_norm = 0.0;
  config.optimizer.learning_rate = 0.1;
  config.objective.loss.epsilon = 100.0;
  return config;
}

/// (r - mean) / (Bessel's deviation + 1e-4), 0 where all rewards of the group are the same.
inline std::vector<double> written_advantages(const Group& group) {
  const std::vector<double> rewards = rewards_of(group);
  const auto count = static_cast<double>(rewards.size());
  double mean = 0.0, squares = 0.0;
  for (const double reward : rewards) mean += reward / count;
  for (const double reward : rewards) squares += (reward - mean) * (reward - mean);
  const auto [low, high] = std::ranges::minmax(rewards);
  std::vector<double> advantages;
  for (const double reward : rewards)
    advantages.push_back(low == high ? 0.0 : (reward - mean) / (std::sqrt(squares / (count - 1.0)) + 1e-4));
  return advantages;
}

/// The policy of a tiny run, updated by the gradient of GRPO's loss as arXiv:2402.03300 writes it.
struct WrittenOut {
  explicit WrittenOut(const TrainConfig& config)
      : policy(tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat)),
        optimizer(policy->parameters(), config.optimizer),
        learning_rate(config.optimizer.learning_rate),
        temperature(config.rollout.temperature) {}

  /// Returns the gradient's norm. `corrections`: a factor of each token of a sample; 1 where it is not given.
  double update(std::span<const Group> groups,
                const std::function<std::vector<double>(const Sample&)>& corrections = {}) {
    std::vector<double> weights, old;
    for (const Group& group : groups) {
      const std::vector<double> advantages = written_advantages(group);
      for (size_t i = 0; i < group.samples.size(); ++i) {
        const Sample& sample = group.samples[i];
        const std::vector<float>& before = sample.policy_logprobs();
        const double share = static_cast<double>(num_samples(groups) * std::ssize(before));
        const double advantage = sample.mask == LossMask::kNone ? advantages[i] : 0.0;
        const std::vector<double> factors =
            corrections ? corrections(sample) : std::vector<double>(before.size(), 1.0);
        for (const double factor : factors) weights.push_back(-advantage * factor / share);
        old.insert(old.end(), before.begin(), before.end());
      }
    }
    optimizer.zero_grad();
    const auto packed = pack(forwarded_groups(groups, has_tokens), at::kCPU);
    const at::Tensor logprobs = packed_logprobs(*policy, *packed, temperature).logprobs;
    (at::tensor(weights) * (logprobs - at::tensor(old)).exp()).sum().backward();
    const double norm = optimizer.grad_norm();
    optimizer.step(learning_rate, norm);
    policy->refresh();
    return norm;
  }

  std::unique_ptr<Decoder> policy;
  AdamW optimizer;
  double learning_rate, temperature;
};

/// How far both runs moved the weights from `start`, and that they moved alike.
inline void expect_same_move(const TinyGrpo& run, const WrittenOut& written,
                             const std::vector<at::Tensor>& start) {
  for (size_t i = 0; i < start.size(); ++i) {
    const at::Tensor move = run.policy->parameters()[i].detach() - start[i];
    const at::Tensor expected = written.policy->parameters()[i].detach() - start[i];
    const double size = expected.norm().item<double>();
    EXPECT_GT(size, 0.0) << i;
    EXPECT_LT((move - expected).norm().item<double>(), 1e-4 * size) << "parameter " << i;
  }
}

}  // namespace cohort
