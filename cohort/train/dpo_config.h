// The recipe of `cohort dpo`: a model trained on preference pairs. Names and defaults are those of TRL 1.16's
// DPOConfig where it has one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/objectives/preference.h"
#include "cohort/train/config.h"

namespace cohort {

struct PreferenceDataConfig {
  std::vector<std::string> path;
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

struct DpoLoopConfig {
  std::optional<int64_t> max_steps;
  std::optional<double> num_train_epochs;
  int64_t pairs_per_step = 8;
  int64_t tokens_per_microbatch = 2560;
  bool recompute = false;
  bool precompute_ref_log_probs = false;
  double router_aux_loss_coef = 0.0;
  int64_t eval_steps = 0;
  bool eval_on_start = false;
  std::string metric_for_best_model;
  int64_t early_stopping_patience = 0;
  int64_t save_steps = 500;
  int64_t save_total_limit = 2;
  int64_t max_nonfinite_steps = 5;

  void describe(FieldVisitor& f);
};

struct DpoConfig {
  int64_t seed = 42;
  ModelConfig model;
  LoraConfig lora;
  PreferenceDataConfig data;
  PreferenceConfig objective;
  OptimizerConfig optimizer;
  DpoLoopConfig train;
  RunConfig run;

  void describe(FieldVisitor& f);
};

/// As for the other recipes.
void validate(const DpoConfig& config);

}  // namespace cohort
