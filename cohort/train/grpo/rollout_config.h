// Which completions a step has and how they are drawn: the section `[rollout]` of a recipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/objectives/advantage_config.h"
#include "cohort/sampler/sampling_keys.h"
#include "cohort/sampler/tree_shape.h"

namespace cohort {

struct RolloutConfig : SamplingKeys {
  int64_t prompts_per_step = 8;
  int64_t num_generations = 8;
  bool dynamic_sampling = false;
  int64_t max_num_gen_batches = 10;
  std::optional<int64_t> keep_generations;
  std::string generation_budget = "uniform";
  std::string adaptive_sampling = "none";
  int64_t max_sampling_rounds = 4;
  double positive_reward = 0.7;
  int64_t num_rerolls = 0;
  double max_reroll_share = 0.25;
  TreeShape tree{};
  int64_t prompts_ahead = 0;

  /// Whether a prompt may be sampled in several rounds.
  bool is_adaptive() const { return adaptive_sampling != "none"; }

  /// Whether prompts have more or fewer completions by how difficult they are.
  bool is_budgeted() const { return generation_budget != "uniform"; }

  /// Completions of one prompt that a round draws at most.
  int64_t most_generations() const { return is_budgeted() ? 4 * num_generations : num_generations; }

  /// Rollouts that a step draws, at most.
  int64_t most_rollouts() const {
    return (dynamic_sampling ? max_num_gen_batches : 1) * (is_adaptive() ? max_sampling_rounds : 1);
  }

  /// Whether a step trains on anything but num_generations completions of each prompt that it draws.
  bool selects() const { return dynamic_sampling || keep_generations || is_adaptive() || is_budgeted(); }

  /// Completions of a prompt that a step trains on, at most.
  int64_t num_trained() const { return keep_generations.value_or(num_generations); }

  /// Whether a step trains on completions of the policy before the last update.
  bool is_stale() const { return prompts_ahead > 0; }

  /// Whether the completions of a prompt are a tree.
  bool has_trees() const { return tree.depth > 0; }

  /// Groups of re-rolls of a step, at most.
  int64_t most_reroll_groups() const {
    if (num_rerolls == 0) return 0;
    const auto num_drawn = static_cast<double>(prompts_per_step * num_generations);
    return static_cast<int64_t>(max_reroll_share * num_drawn) / num_rerolls;
  }

  void describe(FieldVisitor& f);
};

/// Throws ConfigError for settings that contradict each other or the advantages (the ones that hold).
void check_rollout(const RolloutConfig& rollout, const AdvantageConfig& advantages, bool counts_epochs);

}  // namespace cohort
