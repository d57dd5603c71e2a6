// The recipe of `cohort train`. Names and defaults are TRL 1.16's where TRL has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/agent/agent_config.h"
#include "cohort/env/environment_config.h"
#include "cohort/objectives/objective_config.h"
#include "cohort/rewards/reward.h"
#include "cohort/train/critic/critic_config.h"
#include "cohort/train/grpo/monitor_config.h"
#include "cohort/train/grpo/rollout_config.h"
#include "cohort/train/run/common_config.h"

namespace cohort {

struct GrpoLoopConfig : LoopKeys, BalanceKeys, EvaluationKeys {
  int64_t steps_per_generation = 1;
  std::optional<int64_t> num_generations_eval{};
  std::optional<double> temperature_eval{};
  std::optional<double> top_p_eval{};
  bool log_completions = true;
  double max_sandbox_error_share = 0.01;
  double max_failed_share = 0.5;
  int64_t failed_share_window = 1000;
  bool preflight = true;
  int64_t max_rollbacks = 3;
  double rollback_lr_scale = 0.5;

  void describe(FieldVisitor& f);
};

struct GrpoRunConfig : RunKeys {
  bool save_batches = false;

  void describe(FieldVisitor& f);
};

/// The section `[dist]`.
struct DistConfig {
  int64_t gradient_slots = 0;

  void describe(FieldVisitor& f);
};

/// The recipe of `cohort train`.
struct TrainConfig {
  int64_t seed = 42;
  ModelConfig model;
  LoraConfig lora;
  DataConfig data;
  RolloutConfig rollout;
  EnvironmentConfig environment;
  AgentConfig agent;
  std::vector<ToolConfig> tool;
  std::vector<RewardConfig> reward;
  std::vector<MonitorConfig> monitor;
  ObjectiveConfig objective;
  CriticConfig critic;
  OptimizerConfig optimizer;
  GrpoLoopConfig train{{.tokens_per_microbatch = 0, .save_steps = 100}, {}, {}};
  DistConfig dist;
  GrpoRunConfig run;

  void describe(FieldVisitor& f);

  /// The settings that a critic reads, with the resolved objective.
  CriticSetup critic_setup() const;

  /// Takes the defaults of the preset that `given`, a first reading of the same sources, names, and what its
  /// `loss_type` stands for: what is read now overrides them.
  void apply_preset(const TrainConfig& given);
};

/// Checks the rules that join several settings; those of one reward are checked by make_reward. Throws
/// ConfigError naming the keys and what to do.
void validate(const TrainConfig& config);

}  // namespace cohort
