// The recipe of `cohort reward-train`: a model's head fitted to preferences or to labelled steps. Names and
// defaults are TRL's where it has one (RewardConfig of 1.16, PRMConfig of 0.29).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/train/config.h"

namespace cohort {

struct HeadConfig {
  std::string type = "model";
  std::string step_separator = "\n";
  std::optional<double> center_rewards_coefficient;

  void describe(FieldVisitor& f);
};

struct RewardDataConfig {
  std::vector<std::string> path;
  std::vector<std::string> replay_path;
  double replay_share = 0.1;
  std::vector<std::string> eval_path;
  std::map<std::string, std::string> columns;
  std::string system_prompt;
  ScalarTable chat_template_kwargs;
  double test_split_size = 0.0;
  std::string deduplicate = "none";
  std::optional<int64_t> max_prompt_length;
  bool filter_overlong_prompts = false;
  bool shuffle_dataset = true;
  std::vector<DataSourceConfig> source;

  void describe(FieldVisitor& f);
};

struct RewardLoopConfig {
  std::optional<int64_t> max_steps;
  std::optional<double> num_train_epochs;
  int64_t rows_per_step = 8;
  int64_t tokens_per_microbatch = 2560;
  bool recompute = false;
  int64_t eval_steps = 0;
  bool eval_on_start = false;
  std::string metric_for_best_model;
  int64_t early_stopping_patience = 0;
  int64_t save_steps = 500;
  int64_t save_total_limit = 2;
  int64_t max_nonfinite_steps = 5;

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
