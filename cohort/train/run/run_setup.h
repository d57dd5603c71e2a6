// What every kind of run does before its first step.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "cohort/core/config_io.h"
#include "cohort/core/log.h"
#include "cohort/dist/group.h"
#include "cohort/models/decoder.h"
#include "cohort/records/run_directory.h"
#include "cohort/tasks/text_format.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/run/common_config.h"
#include "cohort/train/run/resume.h"
#include "cohort/train/run/run_loop.h"

namespace cohort {

/// When the run was begun: now, or what it wrote down, for all processes. What chat templates are told is the
/// time.
std::tm run_start(const RunKeys& run, const ResumeOptions& options, dist::Group& processes = dist::alone());

/// The settings that a resumed run would take anew; empty for a new run. Throws ConfigError, before anything
/// is loaded, for settings that change results and were not accepted, and if the run's checkpoints are gone.
template <typename Config>
std::vector<SettingChange> check_resumed(const Config& config, const ResumeOptions& options) {
  if (!options.resume && !options.accept_changed.empty())
    throw ConfigError("--accept-changed has no effect without --resume");
  if (!options.resume || !RunDirectory::holds_run(config.run.dir)) return {};
  RunDirectory::check_checkpoints(config.run.dir);
  const std::filesystem::path root = config.run.dir, config_file = root / "config.toml";
  Config before, now = config;
  apply_toml_file(settings_of(before), config_file);
  check_accepted(options, settings_of(before), settings_of(now));
  const std::vector<SettingChange> changes =
      resumed_changes(settings_of(before), settings_of(now), RunDirectory::files_of(root));
  check_changes(changes, options, config_file);
  return changes;
}

/// Settings that fit together, and those of the run that is resumed. Throws ConfigError for others.
template <typename Config>
Config checked(const Config& config, const ResumeOptions& options) {
  validate(config);
  check_resumed(config, options);
  return config;
}

/// open_run() of a process that writes.
template <typename Config>
RunDirectory open_own_run(const Config& config, const ResumeOptions& options, const std::tm& start) {
  Config copy = config;
  const Section settings = settings_of(copy);
  if (!options.resume || !RunDirectory::holds_run(config.run.dir))
    return RunDirectory::create(config.run.dir, to_toml(settings), start, file_fingerprints(settings));
  return RunDirectory::resume(config.run.dir);
}

/// The directory of a run with these settings: a new one, or the one that is continued. A run that was killed
/// before it was set up is begun again. The first process writes it; the others read.
template <typename Config>
RunDirectory open_run(const Config& config, const ResumeOptions& options, const std::tm& start,
                      dist::Group& processes = dist::alone()) {
  if (!processes.is_first()) {
    processes.barrier("the run's directory");
    return RunDirectory::read(config.run.dir);
  }
  RunDirectory directory = open_own_run(config, options, start);
  processes.barrier("the run's directory");
  return directory;
}

/// Writes down and logs what a run takes anew, once its checkpoint has been read.
template <typename Config>
void take_changes(const RunDirectory& run, const Config& config, const ResumeOptions& options) {
  const std::vector<SettingChange> changes = check_resumed(config, options);
  if (changes.empty()) return;
  Config copy = config;
  const Section settings = settings_of(copy);
  run.change_settings(changes, to_toml(settings), file_fingerprints(settings));
  if constexpr (requires { config.optimizer; }) {
    log_info("from here on ", describe_changes(changes, config.optimizer.lr_scheduler_type));
  } else {
    log_info("from here on ", describe_changes(changes, config.lr_scheduler_type()));
  }
}

/// The steps of a run: `max_steps`, or those that `epochs` of `rows` take, whichever ends first.
int64_t num_steps(std::optional<int64_t> max_steps, std::optional<double> epochs, int64_t rows,
                  int64_t rows_per_step);

/// A model's tokenizer. Throws FormatError where it has none, which text data need.
std::unique_ptr<const Tokenizer> require_tokenizer(const std::string& model_dir, const DecoderConfig& model);

/// The model of a run, without adapters. Throws ConfigError for the directory of an adapter.
std::unique_ptr<Decoder> load_base(const ModelConfig& config, bool is_frozen);

/// The model to train: all of it, or adapters on it.
std::unique_ptr<Decoder> load_model(const ModelConfig& config, const LoraConfig& lora, int64_t seed);

/// A coefficient that nothing would heed is refused.
void check_router_loss(double router_aux_loss_coef, const DecoderConfig& model);

/// load_model by the settings of a run, whose `[train]` has a load-balancing loss.
template <typename Config>
std::unique_ptr<Decoder> load_trained_model(const Config& config) {
  auto model = load_model(config.model, config.lora, config.seed);
  check_router_loss(config.train.router_aux_loss_coef, model->config());
  return model;
}

/// The part of a loop's settings that all kinds of runs have.
template <typename Config>
LoopConfig loop_config(const Config& config, int64_t steps) {
  const auto& train = config.train;
  LoopConfig loop{.max_steps = steps,
                  .save_steps = train.save_steps,
                  .save_total_limit = train.save_total_limit,
                  .max_nonfinite_steps = train.max_nonfinite_steps,
                  .chat_template = config.model.chat_template};
  if constexpr (requires { train.eval_steps; }) {
    loop.eval_steps = train.eval_steps;
    loop.eval_on_start = train.eval_on_start;
    loop.metric_for_best_model = train.metric_for_best_model;
    loop.early_stopping_patience = train.early_stopping_patience;
  }
  if constexpr (requires { train.max_rollbacks; }) loop.max_rollbacks = train.max_rollbacks;
  if constexpr (requires { train.log_completions; }) loop.log_completions = train.log_completions;
  if constexpr (requires { config.run.save_batches; }) loop.save_batches = config.run.save_batches;
  return loop;
}

/// What a run says of its prompts.
template <typename Config>
TextSettings text_settings(const Config& config) {
  return {config.model.chat_template, config.data.system_prompt, config.data.chat_template_kwargs};
}

}  // namespace cohort
