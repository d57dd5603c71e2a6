// The recipe of `cohort reward-train`: a model's head fitted to preferences or to labelled steps. Names and
// defaults are TRL's where it has one (RewardConfig of 1.16, PRMConfig of 0.29).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/train/run/common_config.h"

namespace cohort {

struct HeadConfig {
  std::string type = "model";
  std::string step_separator = "\n";
  std::optional<double> center_rewards_coefficient;

  void describe(FieldVisitor& f);
};

struct RewardDataConfig : HeldOutRowsConfig, LengthKey {
  std::vector<std::string> replay_path{};
  double replay_share = 0.1;

  void describe(FieldVisitor& f);
};

struct RewardLoopConfig : LoopKeys, EvaluationKeys {
  int64_t rows_per_step = 8;

  void describe(FieldVisitor& f);
};

struct RewardTrainConfig {
  int64_t seed = 42;
  ModelConfig model;
  HeadConfig head;
  RewardDataConfig data;
  OptimizerConfig optimizer{.learning_rate = 1e-4};
  RewardLoopConfig train;
  RunConfig run;

  void describe(FieldVisitor& f);
};

/// As for the other recipes.
void validate(const RewardTrainConfig& config);

}  // namespace cohort
