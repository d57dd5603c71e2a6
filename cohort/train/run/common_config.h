// The settings that the recipes of all kinds of runs share, each declared once. Names and defaults are
// TRL 1.16's where TRL has one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/models/lora_config.h"
#include "cohort/tasks/text_format.h"

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

/// The keys of `[data]` that all kinds of runs have.
struct RowsConfig {
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

  /// All keys but `path`.
  void describe_rows(FieldVisitor& f, const char* split_meaning);
};

/// The section `[data]` of runs that draw completions.
struct DataConfig : RowsConfig {
  std::vector<std::string> eval_path{};

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

/// The keys of `[train]` that all kinds of runs have.
struct LoopKeys {
  std::optional<int64_t> max_steps{};
  std::optional<double> num_train_epochs{};
  int64_t tokens_per_microbatch = 2560;
  bool recompute = false;
  int64_t save_steps = 500;
  int64_t save_total_limit = 2;
  int64_t max_nonfinite_steps = 5;

  void describe_length(FieldVisitor& f);
  void describe_memory(FieldVisitor& f, const char* microbatch_meaning, const Limits& limits = at_least(1));
  void describe_saving(FieldVisitor& f, bool keeps_best = true);
};

/// The keys of `[train]` that all runs with held-out rows have.
struct EvaluationKeys {
  int64_t eval_steps = 0;
  bool eval_on_start = false;
  std::string metric_for_best_model{};
  int64_t early_stopping_patience = 0;

  void describe_start(FieldVisitor& f, const char* steps_meaning);
  void describe_choice(FieldVisitor& f);

  /// All of them, in a run that draws no completions.
  void describe_evaluation(FieldVisitor& f);
};

struct RunConfig {
  std::string dir;

  void describe(FieldVisitor& f);
};

/// The meanings of keys that several recipes describe.
inline constexpr const char* kMicrobatchMeaning =
    "Rows (tokens) forwarded and backpropagated at once: bounds memory, and changes results by rounding "
    "alone.";
inline constexpr const char* kAuxLossMeaning =
    "Weight of the load-balancing loss of mixtures of experts (arXiv:2101.03961 eq. 4), per completion and "
    "layer.";
inline constexpr const char* kSeedMeaning =
    "Decides every random number: the same seed gives the same bytes.";
inline constexpr const char* kModelMeaning = "The model and how it computes.";
inline constexpr const char* kLoraMeaning =
    "Low-rank adapters on the frozen model (arXiv:2106.09685), in PEFT's format; the run's `final` is one.";
inline constexpr const char* kOptimizerMeaning = "AdamW and its schedule.";
inline constexpr const char* kRunMeaning = "Where results go.";

}  // namespace cohort
