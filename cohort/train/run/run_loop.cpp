#include "cohort/train/run/run_loop.h"

#include <chrono>
#include <cmath>
#include <csignal>

#include "cohort/core/error.h"
#include "cohort/core/jsonl_writer.h"
#include "cohort/core/log.h"
#include "cohort/core/units.h"
#include "cohort/models/adapter.h"
#include "cohort/records/completions_log.h"
#include "cohort/records/metrics_log.h"
#include "cohort/train/run/metrics.h"
#include "cohort/train/run/rollback.h"

namespace cohort {
namespace {

volatile std::sig_atomic_t stop_signal = 0;

/// Lets SIGINT and SIGTERM end the run after the step; a second one ends the process at once.
class StopSignals {
 public:
  StopSignals() {
    stop_signal = 0;
    for (const int signal : {SIGINT, SIGTERM}) {
      std::signal(signal, [](int number) {
        stop_signal = number;
        std::signal(number, SIG_DFL);
      });
    }
  }
  ~StopSignals() {
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  }
};

double seconds_since_start() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The score that decides the best model, larger is better; nothing if the metric is not a number.
std::optional<double> score_of(const EvalRecord& record, const std::string& metric) {
  if (metric.empty()) return record.score;
  std::string names;
  for (const auto& [name, value] : record.metrics) {
    if (name == metric)
      return std::isfinite(value) ? std::optional(metric.ends_with("loss") ? -value : value) : std::nullopt;
    names += (names.empty() ? "" : ", ") + name;
  }
  throw ConfigError(
      str("train.metric_for_best_model: evaluations have no metric \"", metric, "\"; they have ", names));
}

/// Where a model's files are in `directory`.
std::filesystem::path folder_of(const TrainedModel& model, const std::filesystem::path& directory) {
  return model.name.empty() ? directory : directory / model.name;
}

}  // namespace

/// The files that a run writes line by line.
struct RunRecords {
  RunRecords(const RunDirectory& run, const LoopConfig& config) : log(run) {
    if (config.log_completions) completions.emplace(run, config.completions_bytes);
  }

  void write_completions(const std::vector<Json>& rows) {
    if (completions) completions->write(rows);
  }

  /// The sizes of the files, for a checkpoint; `known`: those of the one before, for what is not written.
  Json save(int64_t step, const Json& known) {
    Json sizes = known;
    if (completions) sizes.update(completions->save(step));
    sizes["metrics"] = log.save();
    return sizes;
  }

  void restore_lines(const Json& checkpoint) {
    if (completions) completions->restore_lines(checkpoint);
  }

  /// Cuts the records to `sizes` and the events, whose lines can't be told apart, to those of a checkpoint.
  void cut_to(const Json& sizes, const Json& checkpoint) {
    log.cut_to(sizes, checkpoint.value("metrics", Json::object()).value("events", int64_t{0}));
    if (completions) completions->truncate_to(sizes.at("completions").get<int64_t>());
  }

  /// `step`: of the checkpoint that knows the sizes.
  void go_back_to(const Json& sizes, int64_t step) {
    log.load(sizes.value("metrics", Json::object()));
    if (completions) completions->load(sizes, step);
  }

  MetricsLog log;
  std::optional<CompletionsLog> completions;
};

RunLoop::RunLoop(const RunDirectory& run, const LoopConfig& config, Decoder& decoder, AdamW& optimizer,
                 Trainer& trainer, std::filesystem::path source_model, std::function<EvalRecord()> evaluate,
                 dist::Group& processes)
    : run_(run),
      config_(config),
      models_(trainer.models()),
      trainer_(trainer),
      source_model_(std::move(source_model)),
      evaluate_(std::move(evaluate)),
      processes_(processes),
      progress_(run) {
  if (models_.empty()) models_.push_back({"", &decoder, &optimizer});
}

/// The first process's; -1: none. The others must find it, too.
int64_t RunLoop::newest_checkpoint(int64_t up_to) const {
  const std::string own = processes_.is_first() ? std::to_string(newest_on_branch(run_, up_to)) : "";
  const int64_t newest = std::stoll(processes_.broadcast(own, "the newest checkpoint"));
  if (newest >= 0 && !std::filesystem::is_directory(run_.checkpoint(newest))) {
    throw FormatError(
        str(run_.checkpoint(newest).string(), ": rank ", processes_.rank(),
            " doesn't find this checkpoint, which rank 0 has: run.dir must be on a file system that "
            "all processes share"));
  }
  return newest;
}

void RunLoop::resume() {
  const int64_t newest = newest_checkpoint();
  if (newest < 0) {
    std::error_code none;
    const auto size = std::filesystem::file_size(run_.metrics_file(), none);
    if (!none && size > 0)
      log_warn(run_.root().string(), ": the run ended before its first checkpoint; it begins again");
    return;
  }
  const std::string rollbacks = std::to_string(std::ssize(rollbacks_of(run_)));
  num_rollbacks_ = std::stoll(processes_.broadcast(rollbacks, "the number of rollbacks"));
  load(newest);
  if (num_rollbacks_ > 0 && processes_.is_first()) resume_branch(newest);
  if (step_ > config_.max_steps) {
    throw ConfigError(str(run_.checkpoint(newest).string(), ": is after the last step of the run, ",
                          config_.max_steps, ": raise train.max_steps, or delete the checkpoints after it"));
  }
  log_info("resuming after step ", step_);
}

// A process that was killed in a rollback may have left files of the steps after it.
void RunLoop::resume_branch(int64_t step) {
  const std::vector<Rollback> rollbacks = rollbacks_of(run_);
  if (step == rollbacks.back().to_step) leave_steps_after(run_, step, num_rollbacks_);
  for (const Rollback& rollback : rollbacks) {
    if (rollback.best_score && (!best_score_ || *rollback.best_score > *best_score_))
      best_score_ = rollback.best_score;
  }
}

void RunLoop::load(int64_t step) {
  const std::filesystem::path checkpoint = run_.checkpoint(step);
  best_score_.reset();
  evaluations_without_gain_ = 0;
  try {
    const Json state = load_checkpoint(checkpoint, trained_parts());
    for (const TrainedModel& model : models_) model.decoder->refresh();
    step_ = saved_step_ = state.at("step").get<int64_t>();
    nonfinite_steps_ = state.at("nonfinite_steps").get<int64_t>();
    // Scores of another metric cannot be compared.
    if (state.value("metric_for_best_model", "") == config_.metric_for_best_model) {
      if (!state.at("best_score").is_null()) best_score_ = state.at("best_score").get<double>();
      evaluations_without_gain_ = state.value("evaluations_without_gain", int64_t{0});
    }
    file_sizes_ = state.at("files");
    trainer_.load(state.at("trainer"));
    if (num_rollbacks_ > 0) trainer_.begin_branch(num_rollbacks_);
  } catch (const Json::exception& error) {
    throw FormatError(str((checkpoint / "state.json").string(), ": does not fit these settings: ",
                          error.what(), "; resume with those that it was written with"));
  }
}

// The checkpoint is loaded first: one that can't be read ends the run and changes nothing. The line in
// rollbacks.jsonl makes the rollback; what comes after it is repeated by a run that is resumed.
void RunLoop::roll_back(const std::string& reason) {
  progress_.finish();
  const int64_t target = newest_checkpoint(sound_step_.value_or(0));
  if (target < 0 || num_rollbacks_ >= config_.max_rollbacks) {
    save();
    const std::string why =
        target < 0
            ? str("There is no checkpoint from before to go back to: lower train.save_steps, or give the "
                  "monitor a shorter window")
            : str("The run has gone back ", num_rollbacks_,
                  " times: raise train.max_rollbacks, or lower optimizer.learning_rate");
    throw UserError(
        str("step ", step_, ": ", reason, ". ", why,
            ". The checkpoint of this step is written; --resume goes on from it, or from an earlier one "
            "if those after it are deleted"));
  }
  const int64_t from = step_;
  const std::optional<double> best = best_score_;
  ++num_rollbacks_;
  load(target);
  if (best && (!best_score_ || *best > *best_score_)) best_score_ = best;  // its model is in best/
  if (records_) {
    records_->restore_lines(file_sizes_);
    const Json sizes = copy_lines_after(run_, target, num_rollbacks_);
    write_rollback(run_, {from, target, reason, best});
    records_->cut_to(sizes, file_sizes_);
    leave_steps_after(run_, target, num_rollbacks_);
    log_warn("step ", from, ": ", reason, ": the run goes back to the checkpoint of step ", target,
             " and draws other completions from there on (", run_.rollbacks_file().string(), ")");
  }
  processes_.barrier("a rollback");
  first_step_ = step_;
  started_s_ = seconds_since_start();
}

/// Those that an alarm may go back to: the newest sound one, the newest that no window has seen, and all
/// after it.
std::vector<int64_t> RunLoop::kept_checkpoints() const {
  if (!sound_step_) return {};
  std::vector<int64_t> kept{newest_on_branch(run_, *sound_step_), newest_on_branch(run_, unseen_step_)};
  for (const int64_t step : run_.checkpoint_steps()) {
    if (step > unseen_step_) kept.push_back(step);
  }
  return kept;
}

RunLoop::~RunLoop() = default;

int RunLoop::run() {
  const StopSignals signals;
  begin();
  while (goes_on() && processes_.all_true(stop_signal == 0, "the end of a step")) {
    StepReport report = take_step();
    if (is_evaluation_due()) evaluate(report);
    end_step(report);
    if (is_checkpoint_due()) save();
  }
  if (goes_on()) {
    progress_.finish();
    save();
    const int signal = stop_signal != 0 ? static_cast<int>(stop_signal) : SIGTERM;  // another process's
    log_info("stopped by signal ", signal, " after step ", step_,
             "; the checkpoint is written, --resume continues");
    return 128 + signal;
  }
  finish();
  return 0;
}

void RunLoop::begin() {
  if (processes_.is_first()) {
    records_ = std::make_unique<RunRecords>(run_, config_);
    records_->go_back_to(file_sizes_, step_);
  }
  first_step_ = step_;
  started_s_ = seconds_since_start();
  if (saved_step_ >= 0 || !config_.eval_on_start || !evaluate_) return;
  StepReport start;
  evaluate(start);
  if (records_) {
    for (const std::string& warning : start.warnings) log_warn("before the first step: ", warning);
    records_->log.write(0, start.metrics, start.timings, wall_time());
  }
  if (start.stop_reason.empty()) return;
  processes_.barrier("the evaluation before the first step");
  throw UserError(str("before the first step: ", start.stop_reason));
}

StepReport RunLoop::take_step() {
  const Json before = trainer_.save();
  const int64_t updates_before = num_updates();
  try {
    StepReport report = trainer_.step(step_ + 1);
    ++step_;
    return report;
  } catch (...) {
    trainer_.load(before);
    is_step_halved_ = num_updates() != updates_before;
    throw;
  }
}

bool RunLoop::is_evaluation_due() const {
  return evaluate_ && (step_ % config_.eval_steps == 0 || step_ == config_.max_steps);
}

void RunLoop::end_step(const StepReport& report) {
  if (records_) {
    records_->write_completions(report.completions);
    write_batch_of(report);
    for (const std::string& warning : report.warnings) log_warn("step ", step_, ": ", warning);
    records_->log.write(step_, report.metrics, report.timings, wall_time());
    show(report);
  }
  note_nonfinite(report);
  if (nonfinite_steps_ >= config_.max_nonfinite_steps) {
    processes_.barrier("the files of a step");
    throw UserError(str("step ", step_, ": loss or gradient of ", nonfinite_steps_,
                        " steps in a row were not finite; the samples are in ", run_.root().string(),
                        "/nonfinite-*.jsonl (a lower learning_rate or max_grad_norm often helps)"));
  }
  sound_step_ = report.sound_step;
  unseen_step_ = report.unseen_step;
  if (report.stop_reason.empty()) {
    if (!report.rollback_reason.empty()) roll_back(report.rollback_reason);
    return;
  }
  progress_.finish();
  save();
  const std::string alarm = report.rollback_reason.empty() ? "" : "; " + report.rollback_reason;
  throw UserError(str("step ", step_, ": ", report.stop_reason, alarm,
                      ". The checkpoint is written: mend the cause and go on with --resume"));
}

void RunLoop::finish() {
  progress_.finish();
  save();
  if (is_stopped_early()) {
    log_info("the run ends early, after step ", step_, ": ", evaluations_without_gain_,
             " evaluations in a row were not better than the best one (train.early_stopping_patience)");
  }
  if (step_ > 0 && nonfinite_steps_ == step_) {
    throw UserError(str(
        "no step of the run had a finite loss and gradient, so that the model is what it was: ",
        "check its weights and the data; the samples are in ", run_.root().string(), "/nonfinite-*.jsonl"));
  }
  save_models(run_.final_model());
  if (processes_.is_first()) run_.delete_leftovers();  // of a deletion that failed at the last checkpoint
  processes_.barrier("the final model");
}

void RunLoop::write_batch_of(const StepReport& report) const {
  if (!report.batch) return;
  run_.write_batch(*report.batch);
  if (!config_.save_batches) run_.keep_one_batch(step_);
}

void RunLoop::note_nonfinite(const StepReport& report) {
  if (report.is_finite) {
    nonfinite_steps_ = 0;
    return;
  }
  ++nonfinite_steps_;
  if (!records_) return;
  const std::filesystem::path path = run_.root() / str("nonfinite-", step_, ".jsonl");
  JsonlWriter dump(path);
  dump.truncate_to(0);
  for (const Json& row : report.nonfinite) dump.write(row);
  dump.flush();
  log_warn("step ", step_, ": the loss or gradient is not finite, the update was skipped; sample in ",
           path.string());
}

void RunLoop::evaluate(StepReport& report) {
  const double start = seconds_since_start();
  const EvalRecord record = evaluate_();
  append(report.metrics, record.metrics);
  trainer_.note_evaluation(record.metrics, report);
  report.timings.emplace_back("timing_s/testing", seconds_since_start() - start);
  const std::optional<double> score = score_of(record, config_.metric_for_best_model);
  if (!score || (best_score_ && *score <= *best_score_)) {
    ++evaluations_without_gain_;
    return;
  }
  best_score_ = score;
  evaluations_without_gain_ = 0;
  save_models(run_.best_model());
}

bool RunLoop::is_stopped_early() const {
  const int64_t patience = config_.early_stopping_patience;
  return patience > 0 && evaluations_without_gain_ >= patience && step_ < config_.max_steps;
}

bool RunLoop::save() {
  if (saved_step_ == step_) return true;
  if (is_step_halved_) return false;
  write_checkpoint();
  processes_.barrier("a checkpoint");
  saved_step_ = step_;
  return true;
}

void RunLoop::write_checkpoint() {
  if (records_) file_sizes_ = records_->save(step_, file_sizes_);
  const Json state{{"step", step_},
                   {"nonfinite_steps", nonfinite_steps_},
                   {"best_score", best_score_ ? Json(*best_score_) : Json(nullptr)},
                   {"metric_for_best_model", config_.metric_for_best_model},
                   {"evaluations_without_gain", evaluations_without_gain_},
                   {"files", file_sizes_},
                   {"rollbacks", num_rollbacks_},
                   {"trainer", trainer_.save()}};
  save_checkpoint(
      run_.temporary_checkpoint(step_), run_.checkpoint(step_), trained_parts(), state,
      [&](const std::filesystem::path& directory) {
        for (const TrainedModel& model : models_)
          write_trained_files(*model.decoder, source_model_, config_.chat_template,
                              folder_of(model, directory));
      },
      processes_);
  if (!processes_.is_first()) return;
  run_.mark_saved();
  run_.keep_newest_checkpoints(config_.save_total_limit, kept_checkpoints());
}

std::vector<TrainedPart> RunLoop::trained_parts() const {
  std::vector<TrainedPart> parts = trainer_.more_parts();
  for (const TrainedModel& model : models_) {
    parts.push_back({model.name.empty() ? "" : model.name + "/", model.decoder->trained_weights(),
                     model.optimizer, trained_weight_file(*model.decoder)});
  }
  return parts;
}

int64_t RunLoop::num_updates() const {
  int64_t total = 0;
  for (const TrainedModel& model : models_) total += model.optimizer->num_updates();
  return total;
}

void RunLoop::save_models(const std::filesystem::path& directory) const {
  if (!processes_.is_first()) return;
  for (const TrainedModel& model : models_)
    save_trained(*model.decoder, source_model_, folder_of(model, directory), config_.chat_template);
}

void RunLoop::show(const StepReport& report) {
  if (!shows_progress_) return;
  const double now = seconds_since_start();
  const double left = (now - started_s_) / static_cast<double>(step_ - first_step_) *
                      static_cast<double>(config_.max_steps - step_);
  const auto speed = static_cast<int64_t>(find_metric(report.timings, "perf/throughput"));
  progress_.show(str("step ", step_, "/", config_.max_steps, "  ", report.summary, "  ", speed, " tokens/s  ",
                     format_duration(left), " left"),
                 now);
}

}  // namespace cohort
