// What the recipes of all kinds of runs say and check alike.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/tasks/text_format.h"
#include "cohort/train/config.h"
#include "cohort/train/schedule.h"

namespace cohort {

inline constexpr const char* kMaxStepsMeaning =
    "Steps to run; with `num_train_epochs` too, whichever ends first.";
inline constexpr const char* kEpochsMeaning =
    "Passes over the data; with `max_steps` too, whichever ends first.";
inline constexpr const char* kMicrobatchMeaning =
    "Rows (tokens) forwarded and backpropagated at once: bounds memory, and changes results by rounding "
    "alone.";
inline constexpr const char* kRecomputeMeaning =
    "Keep only each layer's input and compute the rest again in the backward pass: less memory, more time.";
inline constexpr const char* kAuxLossMeaning =
    "Weight of the load-balancing loss of mixtures of experts (arXiv:2101.03961 eq. 4), per completion and "
    "layer.";
inline constexpr const char* kSaveStepsMeaning = "Steps between checkpoints; 0 writes one at the end only.";
inline constexpr const char* kSaveLimitMeaning =
    "Checkpoints kept, the newest ones; the best one is kept besides.";
inline constexpr const char* kNonfiniteMeaning =
    "Steps in a row with a non-finite loss or gradient, each skipped, that stop the run.";
inline constexpr const char* kShuffleMeaning =
    "Draw a fresh order for every epoch; otherwise the files' order.";
inline constexpr const char* kColumnsMeaning =
    "Columns under other names, such as {prompt = \"question\"}: the name here, then the file's, which may "
    "be a "
    "path into nested columns (`reward_model.ground_truth`).";
inline constexpr const char* kDeduplicateMeaning =
    "Leave out rows whose prompt, or all of whose columns, came before: told by a 64-bit hash.";
inline constexpr const char* kMaxPromptMeaning = "Longest prompt, in tokens; longer ones are an error.";
inline constexpr const char* kFilterMeaning =
    "Leave out and count rows longer than `max_prompt_length` or the model's context, instead of refusing.";
inline constexpr const char* kSourceMeaning =
    "A part of a mixture, in place of `data.path`; the table is given once for each.";
inline constexpr const char* kSeedMeaning =
    "Decides every random number: the same seed gives the same bytes.";

inline constexpr const char* kModelMeaning = "The model and how it computes.";
inline constexpr const char* kOptimizerMeaning = "AdamW and its schedule.";
inline constexpr const char* kRunMeaning = "Where results go.";

inline void require(const std::string& value, const char* key, const char* what) {
  if (value.empty()) throw ConfigError(str(key, " is not set: give ", what));
}

inline bool has_no_path(const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return path.empty(); });
}

template <typename Data>
void check_data(const Data& data) {
  const std::vector<DataSourceConfig>& sources = data.source;
  if (sources.empty() && has_no_path(data.path)) {
    throw ConfigError("data.path is not set: give the JSONL file to train on, or several [[data.source]]");
  }
  if (!sources.empty() && !has_no_path(data.path)) {
    throw ConfigError("data.path and [[data.source]] exclude each other: make the path a source too");
  }
  const auto num_weighted = std::count_if(sources.begin(), sources.end(),
                                          [](const auto& source) { return source.weight.has_value(); });
  if (num_weighted != 0 && num_weighted != static_cast<int64_t>(sources.size())) {
    throw ConfigError("data.source: some have a weight and others none; give all of them one, or none");
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    if (has_no_path(sources[i].path)) throw ConfigError(str("data.source.", i, ".path is not set"));
  }
}

template <typename Config>
void check_common_parts(const Config& config) {
  require(config.model.path, "model.path", "the Hugging Face directory to start from");
  check_data(config.data);
  require(config.run.dir, "run.dir", "the directory for what the run writes (--run-dir)");
  check_schedule(config.optimizer);
}

template <typename Loop>
void check_length(const Loop& train) {
  if (!train.max_steps && !train.num_train_epochs) {
    throw ConfigError("the run has no end: set train.max_steps, train.num_train_epochs or both");
  }
}

inline void check_lora(const LoraConfig& lora) {
  if (lora.r > 0) return;
  if (!(lora == LoraConfig{}))
    throw ConfigError("[lora] has no effect without lora.r: set it, or remove the table");
}

inline void refuse_without_evaluation(bool is_set, const char* key) {
  if (is_set) throw ConfigError(str("train.", key, " has no effect while train.eval_steps is 0"));
}

/// Keys of evaluations that nothing would heed.
template <typename Loop>
void check_evaluation_keys(const Loop& train) {
  const bool is_off = train.eval_steps == 0;
  refuse_without_evaluation(is_off && train.eval_on_start, "eval_on_start");
  refuse_without_evaluation(is_off && !train.metric_for_best_model.empty(), "metric_for_best_model");
  refuse_without_evaluation(is_off && train.early_stopping_patience > 0, "early_stopping_patience");
}

/// The rules of evaluations in a run of `cohort train`. Throws ConfigError.
void check_evaluation(const TrainConfig& config);

/// That rows are held out where they are evaluated.
template <typename Data>
void check_held_out(const Data& data, int64_t eval_steps) {
  const bool is_on = eval_steps > 0;
  const bool has_file = !has_no_path(data.eval_path), has_split = data.test_split_size > 0.0;
  if (is_on && !has_file && !has_split) {
    throw ConfigError(
        "train.eval_steps needs data.eval_path, the held-out JSONL file, or data.test_split_size");
  }
  if (has_file && has_split) {
    throw ConfigError("data.eval_path and data.test_split_size exclude each other: evaluate on one of them");
  }
  if (!is_on && has_file) {
    throw ConfigError(
        "data.eval_path has no effect while train.eval_steps is 0: set eval_steps or drop eval_path");
  }
}

/// The keys of evaluations that all kinds of runs with held-out rows have. `describe_draws` describes the
/// keys of how completions are drawn, if a kind has any.
template <typename Loop, typename DescribeDraws>
void describe_evaluation(FieldVisitor& f, Loop& train, const char* steps_meaning,
                         const DescribeDraws& describe_draws) {
  f("eval_steps", train.eval_steps, steps_meaning, at_least(0), OnResume::kTaken);
  f("eval_on_start", train.eval_on_start,
    "Evaluate before the first step, too: the line of step 0 in metrics.jsonl.", OnResume::kTaken);
  describe_draws();
  f("metric_for_best_model", train.metric_for_best_model,
    "The `eval_` metric that decides the best model and early stopping. Larger is better, but for names that "
    "end in `loss`; the evaluation's own score when empty (docs/runs.md).",
    OnResume::kTaken);
  f("early_stopping_patience", train.early_stopping_patience,
    "Evaluations in a row without a better `metric_for_best_model` after which the run ends; 0 never ends "
    "it.",
    at_least(0), OnResume::kTaken);
}

/// The same for runs that draw no completions.
template <typename Loop>
void describe_evaluation(FieldVisitor& f, Loop& train) {
  describe_evaluation(f, train, "Steps between evaluations on the held-out rows; 0 never evaluates.", [] {});
}

/// What all of them say of their rows.
template <typename Data>
void describe_rows(FieldVisitor& f, Data& data, const char* split_meaning) {
  f("columns", data.columns, kColumnsMeaning);
  f("system_prompt", data.system_prompt, kSystemPromptMeaning);
  f("chat_template_kwargs", data.chat_template_kwargs, kTemplateKwargsMeaning);
  f("test_split_size", data.test_split_size, split_meaning, at_least_below(0.0, 1.0));
  f("deduplicate", data.deduplicate, kDeduplicateMeaning, one_of({"none", "prompt", "row"}));
  f("max_prompt_length", data.max_prompt_length, kMaxPromptMeaning, at_least(1));
  f("filter_overlong_prompts", data.filter_overlong_prompts, kFilterMeaning);
  f("shuffle_dataset", data.shuffle_dataset, kShuffleMeaning);
  f("source", data.source, kSourceMeaning);
}

}  // namespace cohort
