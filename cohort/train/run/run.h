// A whole run of any kind, made and checked before its first step.
//
//   SftRun run(config, options);
//   return run.run();
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/records/run_directory.h"
#include "cohort/train/run/common_config.h"
#include "cohort/train/run/optimizer.h"
#include "cohort/train/run/resume.h"
#include "cohort/train/run/run_loop.h"
#include "cohort/train/run/run_setup.h"

namespace cohort {

class Run {
 public:
  Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  virtual ~Run() = default;

  /// Runs to the last step; returns the exit code (RunLoop::run).
  int run();

  /// The steps one by one; finish() after the last one.
  RunLoop& loop() { return *loop_; }

  /// Writes what a finished run leaves: its last checkpoint and the final models.
  void finish();

  /// Writes the model, or its adapters, as it is now into a new directory.
  void save_model(const std::filesystem::path& directory);

  /// Gives the model the weights, or the adapters, of a directory that save_model() or the run wrote.
  void take_weights(const std::filesystem::path& directory);

  /// Judges the model as it is by the rows of `files`. The run's own evaluations, its best model and its
  /// records stay as they are. Throws UserError for rows that can't be used.
  virtual Metrics evaluate_on(const std::vector<std::string>& files) = 0;

  virtual Decoder& model() = 0;
  virtual Trainer& trainer() = 0;
  virtual const ModelConfig& model_config() const = 0;

 protected:
  /// Makes the loop around the trainer in `directory_`, and continues it where the options say so.
  template <typename Config>
  void open_loop(const Config& config, const ResumeOptions& options, int64_t num_steps, AdamW& optimizer,
                 std::function<EvalRecord()> evaluate = {}, dist::Group& processes = dist::alone()) {
    loop_.emplace(*directory_, loop_config(config, num_steps), model(), optimizer, trainer(),
                  config.model.path, std::move(evaluate), processes);
    if (!options.resume) return;
    loop_->resume();
    if (processes.is_first()) take_changes(*directory_, config, options);
  }

  /// Models that a finished run writes besides the trained one.
  virtual void save_more() const {}

  std::optional<RunDirectory> directory_;

 private:
  std::optional<RunLoop> loop_;
};

}  // namespace cohort
