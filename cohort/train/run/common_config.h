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

  /// `lines` says what a line holds, such as "`prompt` and `completion` per line".
  void describe_path(FieldVisitor& f, const char* lines);

  /// All keys but `path`.
  void describe_rows(FieldVisitor& f, const char* split_meaning);
};

/// The keys of `[data]` that all kinds of runs with evaluations have.
struct HeldOutRowsConfig : RowsConfig {
  std::vector<std::string> eval_path{};

  /// All keys but `path`.
  void describe_held_out_rows(FieldVisitor& f);
};

/// The key of `[data]` that all kinds of runs on given completions have.
struct LengthKey {
  std::optional<int64_t> max_length{};

  void describe_max_length(FieldVisitor& f, const char* meaning);
};

/// The section `[data]` of runs that draw completions.
struct DataConfig : HeldOutRowsConfig {
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
  void describe_memory(FieldVisitor& f);
  void describe_memory(FieldVisitor& f, const char* microbatch_meaning, const Limits& limits);
  void describe_saving(FieldVisitor& f);
};

/// The key of `[train]` that all runs on completions have.
struct BalanceKeys {
  double router_aux_loss_coef = 0.0;

  void describe_balance(FieldVisitor& f);
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

/// The key that every `[run]` has.
struct RunKeys {
  std::string dir;

  void describe_dir(FieldVisitor& f);
};

struct RunConfig : RunKeys {
  void describe(FieldVisitor& f) { describe_dir(f); }
};

/// Describes the keys that every recipe begins with; `Config` has them as members of these names.
template <typename Config>
void describe_model_sections(FieldVisitor& f, Config& config) {
  f("seed", config.seed, "Decides every random number: the same seed gives the same bytes.", at_least(0));
  f("model", config.model, "The model and how it computes.");
  if constexpr (requires { config.lora; }) {
    f("lora", config.lora,
      "Low-rank adapters on the frozen model (arXiv:2106.09685), in PEFT's format; the run's `final` is one. "
      "The reference, if the run has one, is the model without them.");
  }
}

/// The same for the keys that every recipe ends with.
template <typename Config>
void describe_training_sections(FieldVisitor& f, Config& config) {
  constexpr bool kEvaluates = requires { config.train.eval_steps; };
  f("optimizer", config.optimizer, "AdamW and its schedule.");
  f("train", config.train,
    kEvaluates ? "The loop: its length, memory, evaluation and checkpoints."
               : "The loop: its length, memory and checkpoints.");
  f("run", config.run, "Where results go.");
}

}  // namespace cohort
