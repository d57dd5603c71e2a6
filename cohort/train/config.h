// A recipe: every setting of `cohort train` and `cohort sft`, declared once. Names and defaults are
// TRL 1.16's where TRL has one. docs/configuration.md is made from this file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/models/lora_config.h"
#include "cohort/objectives/objective_config.h"
#include "cohort/rewards/reward.h"
#include "cohort/train/critic_config.h"
#include "cohort/train/monitor_config.h"
#include "cohort/train/rollout_config.h"

namespace cohort {

void describe(FieldVisitor& f, LoraConfig& lora);

struct ModelConfig {
  std::string path;
  std::string dtype = "bfloat16";
  std::string device = "cpu";
  std::string chat_template;

  void describe(FieldVisitor& f);
};

struct DataSourceConfig {
  std::vector<std::string> path;
  std::optional<double> weight;
  std::string domain;
  std::map<std::string, std::string> columns;

  void describe(FieldVisitor& f);
};

struct DataConfig {
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

struct OptimizerConfig {
  double learning_rate = 1e-6;
  std::string lr_scheduler_type = "linear";
  int64_t warmup_steps = 0;
  double warmup_ratio = 0.0;
  std::map<std::string, double> lr_scheduler_kwargs{};
  double weight_decay = 0.0;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double max_grad_norm = 1.0;

  void describe(FieldVisitor& f);
};

struct GrpoLoopConfig {
  std::optional<int64_t> max_steps;
  std::optional<double> num_train_epochs;
  int64_t steps_per_generation = 1;
  int64_t tokens_per_microbatch = 0;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
  int64_t eval_steps = 0;
  bool eval_on_start = false;
  std::optional<int64_t> num_generations_eval;
  std::optional<double> temperature_eval;
  std::optional<double> top_p_eval;
  std::string metric_for_best_model;
  int64_t early_stopping_patience = 0;
  bool log_completions = true;
  int64_t save_steps = 100;
  int64_t save_total_limit = 2;
  int64_t max_nonfinite_steps = 5;
  double max_sandbox_error_share = 0.01;
  double max_failed_share = 0.5;
  int64_t failed_share_window = 1000;
  bool preflight = true;

  void describe(FieldVisitor& f);
};

struct RunConfig {
  std::string dir;

  void describe(FieldVisitor& f);
};

struct GrpoRunConfig : RunConfig {
  bool save_batches = false;

  void describe(FieldVisitor& f);
};

/// The recipe of `cohort train`.
struct TrainConfig {
  int64_t seed = 42;
  ModelConfig model;
  LoraConfig lora;
  DataConfig data;
  RolloutConfig rollout;
  std::vector<RewardConfig> reward;
  std::vector<MonitorConfig> monitor;
  ObjectiveConfig objective;
  CriticConfig critic;
  OptimizerConfig optimizer;
  GrpoLoopConfig train;
  GrpoRunConfig run;

  void describe(FieldVisitor& f);

  /// Takes the defaults of the preset that `given`, a first reading of the same sources, names, and what its
  /// `loss_type` stands for: what is read now overrides them.
  void apply_preset(const TrainConfig& given);
};

struct SftDataConfig {
  std::vector<std::string> path;
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

struct SftLoopConfig {
  std::optional<int64_t> max_steps;
  std::optional<double> num_train_epochs;
  int64_t sequences_per_step = 8;
  bool assistant_only_loss = false;
  int64_t tokens_per_microbatch = 2560;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
  int64_t save_steps = 500;
  int64_t save_total_limit = 2;
  int64_t max_nonfinite_steps = 5;

  void describe(FieldVisitor& f);
};

/// The recipe of `cohort sft`. TRL's learning rate for supervised training is 2e-5.
struct SftConfig {
  int64_t seed = 42;
  ModelConfig model;
  LoraConfig lora;
  SftDataConfig data;
  OptimizerConfig optimizer{.learning_rate = 2e-5};
  SftLoopConfig train;
  RunConfig run;

  void describe(FieldVisitor& f);
};

/// Checks the rules that join several settings; those of one reward are checked by make_reward. Throws
/// ConfigError naming the keys and what to do.
void validate(const TrainConfig& config);
void validate(const SftConfig& config);

/// docs/configuration.md.
std::string configuration_page();

}  // namespace cohort
