// The rules that the recipes of all kinds of runs share. Each throws ConfigError naming the keys and what to
// do.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/train/run/common_config.h"
#include "cohort/train/run/schedule.h"

namespace cohort {

inline void require(const std::string& value, const char* key, const char* what) {
  if (value.empty()) throw ConfigError(str(key, " is not set: give ", what));
}

inline bool has_no_path(const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return path.empty(); });
}

inline void check_data(const RowsConfig& data) {
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

inline void check_length(const LoopKeys& train) {
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
inline void check_evaluation_keys(const EvaluationKeys& train) {
  const bool is_off = train.eval_steps == 0;
  refuse_without_evaluation(is_off && train.eval_on_start, "eval_on_start");
  refuse_without_evaluation(is_off && !train.metric_for_best_model.empty(), "metric_for_best_model");
  refuse_without_evaluation(is_off && train.early_stopping_patience > 0, "early_stopping_patience");
}

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

}  // namespace cohort
