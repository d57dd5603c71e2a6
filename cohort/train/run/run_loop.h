// The loop around any trainer: steps, records, evaluation, checkpoints, signals, resumption.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/dist/group.h"
#include "cohort/models/decoder.h"
#include "cohort/records/run_directory.h"
#include "cohort/records/tensorboard.h"
#include "cohort/rl/batch.h"
#include "cohort/train/run/checkpoint.h"
#include "cohort/train/run/optimizer.h"
#include "cohort/train/run/training_panel.h"

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
  std::string rollback_reason;        ///< why it must go back; empty when it may go on
  /// Where it would go back to: the newest checkpoint of at most this step. See MonitorReport.
  std::optional<int64_t> sound_step;
  int64_t unseen_step = 0;  ///< no alarm's window reaches back to here; checkpoints after it are kept
};

/// A model that a run trains.
struct TrainedModel {
  std::string
      name;  ///< of the folder with its files in checkpoints and models; empty: it has none of its own
  Decoder* decoder;
  AdamW* optimizer;
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Runs step `index`, counted from 1.
  virtual StepReport step(int64_t index) = 0;

  /// Everything besides weights and optimizer that the next step depends on, and back again.
  virtual Json save() const = 0;
  virtual void load(const Json& state) = 0;

  /// Adds to the report of a step what an evaluation after it means for the run.
  virtual void note_evaluation(const Metrics& /*metrics*/, StepReport& /*report*/) {}

  /// Goes on in another way after the `count`-th rollback: `load` has restored what was before.
  virtual void begin_branch(int64_t /*count*/) {}

  /// Weights that are trained beside the model's; they are restored before `load`.
  virtual std::vector<TrainedPart> more_parts() { return {}; }

  /// The models of a trainer with several; empty for one with the loop's model alone.
  virtual std::vector<TrainedModel> models() { return {}; }
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
  int64_t max_rollbacks = 0;
  bool eval_on_start = false;              ///< before the first step, too
  std::string metric_for_best_model = {};  ///< of an EvalRecord; its score when empty
  int64_t early_stopping_patience =
      0;  ///< evaluations in a row without a better one that end the run; 0: never
  bool log_completions = true;
  int64_t completions_bytes = int64_t{64}
                              << 20;         ///< of completions.jsonl, after which its lines are compressed
  bool save_batches = false;                 ///< keep every step's batch; otherwise the last one alone
  std::filesystem::path chat_template = {};  ///< of the models that are written, in place of the source's
};

/// One run. All references must outlive it. Without models of the trainer's own it trains `decoder`. Each of
/// `processes` takes all steps; the first one writes the files.
class RunLoop {
 public:
  RunLoop(const RunDirectory& run, const LoopConfig& config, Decoder& decoder, AdamW& optimizer,
          Trainer& trainer, std::filesystem::path source_model, std::function<EvalRecord()> evaluate = {},
          dist::Group& processes = dist::alone());
  ~RunLoop();

  /// Continues from the newest checkpoint, or from the start where there is none; records after it are cut
  /// off. Throws UserError for a checkpoint that does not fit the settings or lies after the last step.
  void resume();

  /// Runs to the last step and writes the final model; returns the exit code: 0, or 128 + the signal that
  /// ended it after a checkpoint. Throws UserError after too many steps in a row that were not finite, and,
  /// after a checkpoint, where a step says that the run must end.
  int run();

  // What run() consists of, for a caller with a loop of its own.

  /// Opens the files of the run, and evaluates where the settings ask for it before the first step.
  void begin();

  /// Whether steps are left.
  bool goes_on() const { return step_ < config_.max_steps && !is_stopped_early(); }

  /// Takes the next step. Nothing of it is written yet. After an exception of the trainer, `step` and the
  /// trainer's state are what they were.
  StepReport take_step();

  /// Whether the settings ask for an evaluation after the last step taken.
  bool is_evaluation_due() const;

  /// Adds an evaluation to the report of the last step; keeps the model if it is the best one so far.
  void evaluate(StepReport& report);

  /// Writes what the last step reports, and goes back to a checkpoint if it says so: `step` is that one's
  /// then. Throws as run() does.
  void end_step(const StepReport& report);

  /// Whether the settings ask for a checkpoint after the last step taken.
  bool is_checkpoint_due() const { return config_.save_steps > 0 && step_ % config_.save_steps == 0; }

  /// Writes a checkpoint of the last step taken, if there is none yet. Returns false where there can be none:
  /// a step that failed has changed the weights.
  bool save();

  /// Writes the last checkpoint and the final model. Throws as run() does.
  void finish();

  /// Shows no progress from now on.
  void hide_progress() { shows_progress_ = false; }

  /// Steps taken since the start of the run, those of earlier processes included.
  int64_t step() const { return step_; }
  int64_t max_steps() const { return config_.max_steps; }
  int64_t num_processes() const { return processes_.size(); }

 private:
  bool is_stopped_early() const;
  std::vector<TrainedPart> trained_parts() const;
  int64_t num_updates() const;
  int64_t newest_checkpoint(int64_t up_to = std::numeric_limits<int64_t>::max()) const;
  void load(int64_t step);
  void resume_branch(int64_t step);
  void roll_back(const std::string& reason);
  std::vector<int64_t> kept_checkpoints() const;
  void write_checkpoint();
  void save_models(const std::filesystem::path& directory) const;
  void write_batch_of(const StepReport& report) const;
  void note_nonfinite(const StepReport& report);
  void show(const StepReport& report);

  const RunDirectory& run_;
  LoopConfig config_;
  std::vector<TrainedModel> models_;
  Trainer& trainer_;
  std::filesystem::path source_model_;
  std::function<EvalRecord()> evaluate_;
  dist::Group& processes_;
  int64_t step_ = 0;         // done
  int64_t saved_step_ = -1;  // of the newest checkpoint
  int64_t nonfinite_steps_ = 0;
  bool is_step_halved_ = false;
  int64_t num_rollbacks_ = 0;
  std::optional<int64_t> sound_step_;  // see StepReport
  int64_t unseen_step_ = 0;
  std::optional<double> best_score_;
  int64_t evaluations_without_gain_ = 0;
  Json file_sizes_ = Json::object();
  std::unique_ptr<struct RunRecords> records_;  // once the run has begun; of the first process
  TrainingPanel progress_;
  bool shows_progress_ = true;
  int64_t first_step_ = 0;  // of this process
  double started_s_ = 0.0;
};

}  // namespace cohort
