// The loop around any trainer: steps, records, evaluation, checkpoints, signals, resumption.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/models/decoder.h"
#include "cohort/rl/batch.h"
#include "cohort/train/run/checkpoint.h"
#include "cohort/train/run/optimizer.h"
#include "cohort/train/run/run_directory.h"
#include "cohort/train/run/tensorboard.h"

namespace cohort {

/// What one step leaves behind.
struct StepReport {
  Metrics metrics;
  Metrics timings;
  std::vector<Json> completions;  ///< rows for completions.jsonl
  std::optional<Batch> batch;     ///< for batches/; trainers without samples have none
  bool is_finite = true;
  std::vector<Json> nonfinite;        ///< the sample whose loss or gradient was not finite
  std::string summary;                ///< for the progress line
  std::vector<std::string> warnings;  ///< a line each
  std::string stop_reason;            ///< why the run must end after this step; empty when it may go on
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Runs step `index`, counted from 1.
  virtual StepReport step(int64_t index) = 0;

  /// Everything besides weights and optimizer that the next step depends on, and back again.
  virtual Json save() const = 0;
  virtual void load(const Json& state) = 0;

  /// Weights that are trained beside the model's; they are restored before `load`.
  virtual std::vector<TrainedPart> more_parts() { return {}; }
};

/// What an evaluation found.
struct EvalRecord {
  std::optional<double> score;  ///< larger is better: decides the best model; nothing was judged without it
  Metrics metrics;              ///< with their `eval_` names
};

struct LoopConfig {
  int64_t max_steps = 0;
  int64_t save_steps = 0;  ///< 0: a checkpoint at the end only
  int64_t save_total_limit = 1;
  int64_t eval_steps = 0;  ///< 0: no evaluation
  int64_t max_nonfinite_steps = 5;
  bool eval_on_start = false;              ///< before the first step, too
  std::string metric_for_best_model = {};  ///< of an EvalRecord; its score when empty
  int64_t early_stopping_patience =
      0;  ///< evaluations in a row without a better one that end the run; 0: never
  bool log_completions = true;
  bool save_batches = false;                 ///< keep every step's batch; otherwise the last one alone
  std::filesystem::path chat_template = {};  ///< of the models that are written, in place of the source's
};

/// One run. All references must outlive it.
class RunLoop {
 public:
  RunLoop(const RunDirectory& run, const LoopConfig& config, Decoder& decoder, AdamW& optimizer,
          Trainer& trainer, std::filesystem::path source_model, std::function<EvalRecord()> evaluate = {});

  /// Continues from the newest checkpoint, or from the start where there is none; records after it are cut
  /// off. Throws UserError for a checkpoint that does not fit the settings or lies after the last step.
  void resume();

  /// Runs to the last step and writes the final model; returns the exit code: 0, or 128 + the signal that
  /// ended it after a checkpoint. Throws UserError after too many steps in a row that were not finite, and,
  /// after a checkpoint, where a step says that the run must end.
  int run();

 private:
  /// Returns why the run must end, as the step says.
  std::string take_step(struct RunRecords& records, class ProgressLine& progress);
  void evaluate_start(struct RunRecords& records);
  void evaluate(Metrics& metrics, Metrics& timings);
  bool is_stopped_early() const;
  void save(struct RunRecords& records);
  std::vector<TrainedPart> trained_parts() const;
  void write_batch_of(const StepReport& record) const;
  void note_nonfinite(const StepReport& record);
  void show(const StepReport& record, class ProgressLine& progress) const;

  const RunDirectory& run_;
  LoopConfig config_;
  Decoder& decoder_;
  AdamW& optimizer_;
  Trainer& trainer_;
  std::filesystem::path source_model_;
  std::function<EvalRecord()> evaluate_;
  int64_t step_ = 0;         // done
  int64_t saved_step_ = -1;  // of the newest checkpoint
  int64_t nonfinite_steps_ = 0;
  std::optional<double> best_score_;
  int64_t evaluations_without_gain_ = 0;
  Json file_sizes_ = Json::object();
  int64_t first_step_ = 0;  // of this process
  double started_s_ = 0.0;
};

}  // namespace cohort
