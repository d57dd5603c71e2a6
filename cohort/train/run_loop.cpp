#include "cohort/train/run_loop.h"

#include <chrono>
#include <cmath>
#include <csignal>

#include "cohort/core/error.h"
#include "cohort/core/jsonl_writer.h"
#include "cohort/core/log.h"
#include "cohort/core/progress.h"
#include "cohort/core/units.h"
#include "cohort/models/adapter.h"
#include "cohort/train/metrics_log.h"
#include "cohort/train/step_metrics.h"

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

}  // namespace

RunLoop::RunLoop(const RunDirectory& run, const LoopConfig& config, Decoder& decoder, AdamW& optimizer,
                 Trainer& trainer, std::filesystem::path source_model, std::function<EvalRecord()> evaluate)
    : run_(run),
      config_(config),
      decoder_(decoder),
      optimizer_(optimizer),
      trainer_(trainer),
      source_model_(std::move(source_model)),
      evaluate_(std::move(evaluate)) {}

void RunLoop::resume() {
  const std::vector<int64_t> steps = run_.checkpoint_steps();
  if (steps.empty()) return;
  const Json state = load_checkpoint(run_.checkpoint(steps.back()), trained_parts());
  decoder_.refresh();
  step_ = saved_step_ = state.at("step").get<int64_t>();
  nonfinite_steps_ = state.at("nonfinite_steps").get<int64_t>();
  if (!state.at("best_score").is_null()) best_score_ = state.at("best_score").get<double>();
  file_sizes_ = state.at("files");
  trainer_.load(state.at("trainer"));
  log_info("resuming after step ", step_);
}

int RunLoop::run() {
  const StopSignals signals;
  MetricsLog log(run_);
  JsonlWriter completions(run_.completions_file());
  log.load(file_sizes_.value("metrics", Json::object()));
  completions.truncate_to(file_sizes_.value("completions", int64_t{0}));
  ProgressLine progress;
  first_step_ = step_;
  started_s_ = seconds_since_start();
  while (step_ < config_.max_steps && stop_signal == 0) {
    const std::string stop_reason = take_step(log, completions, progress);
    if (!stop_reason.empty()) {
      progress.finish();
      save(log, completions);
      throw UserError(str("step ", step_, ": ", stop_reason,
                          ". The checkpoint is written: mend the cause and go on with --resume"));
    }
    if (config_.save_steps > 0 && step_ % config_.save_steps == 0) save(log, completions);
  }
  progress.finish();
  if (saved_step_ != step_) save(log, completions);
  if (step_ < config_.max_steps) {
    log_info("stopped by signal ", static_cast<int>(stop_signal), " after step ", step_,
             "; the checkpoint is written, --resume continues");
    return 128 + stop_signal;
  }
  save_trained(decoder_, source_model_, run_.final_model());
  return 0;
}

std::string RunLoop::take_step(MetricsLog& log, JsonlWriter& completions, ProgressLine& progress) {
  StepRecord record = trainer_.step(step_ + 1);
  ++step_;
  for (const Json& row : record.completions) completions.write(row);
  completions.flush();
  note_nonfinite(record);
  for (const std::string& warning : record.warnings) log_warn("step ", step_, ": ", warning);
  const bool is_last = step_ == config_.max_steps;
  if (evaluate_ && (step_ % config_.eval_steps == 0 || is_last)) evaluate(record.metrics, record.timings);
  log.write(step_, record.metrics, record.timings, wall_time());
  show(record, progress);
  if (nonfinite_steps_ >= config_.max_nonfinite_steps) {
    throw UserError(str("step ", step_, ": the ", nonfinite_steps_,
                        "th step in a row with a loss or gradient that is not finite; the samples are in ",
                        run_.root().string(),
                        "/nonfinite-*.jsonl (a lower learning_rate or max_grad_norm often helps)"));
  }
  return record.stop_reason;
}

void RunLoop::note_nonfinite(const StepRecord& record) {
  if (record.is_finite) {
    nonfinite_steps_ = 0;
    return;
  }
  ++nonfinite_steps_;
  const std::filesystem::path path = run_.root() / str("nonfinite-", step_, ".jsonl");
  JsonlWriter dump(path);
  dump.truncate_to(0);
  for (const Json& row : record.nonfinite) dump.write(row);
  dump.flush();
  log_warn("step ", step_, ": the loss or gradient is not finite, the update was skipped; sample in ",
           path.string());
}

void RunLoop::evaluate(Metrics& metrics, Metrics& timings) {
  const double start = seconds_since_start();
  const EvalRecord record = evaluate_();
  append(metrics, record.metrics);
  timings.emplace_back("timing_s/testing", seconds_since_start() - start);
  if (!record.score || (best_score_ && *record.score <= *best_score_)) return;
  best_score_ = record.score;
  save_trained(decoder_, source_model_, run_.best_model());
}

void RunLoop::save(MetricsLog& log, JsonlWriter& completions) {
  completions.sync();
  file_sizes_ = {{"metrics", log.save()}, {"completions", completions.size()}};
  const Json state{{"step", step_},
                   {"nonfinite_steps", nonfinite_steps_},
                   {"best_score", best_score_ ? Json(*best_score_) : Json(nullptr)},
                   {"files", file_sizes_},
                   {"trainer", trainer_.save()}};
  save_checkpoint(run_.temporary_checkpoint(step_), run_.checkpoint(step_), trained_parts(), state);
  run_.keep_newest_checkpoints(config_.save_total_limit);
  saved_step_ = step_;
}

std::vector<TrainedPart> RunLoop::trained_parts() const {
  std::vector<TrainedPart> parts = trainer_.more_parts();
  parts.push_back({"", decoder_.trained_weights(), &optimizer_});
  return parts;
}

void RunLoop::show(const StepRecord& record, ProgressLine& progress) const {
  const double now = seconds_since_start();
  const double left = (now - started_s_) / static_cast<double>(step_ - first_step_) *
                      static_cast<double>(config_.max_steps - step_);
  const auto speed = static_cast<int64_t>(find_metric(record.timings, "perf/throughput"));
  progress.show(str("step ", step_, "/", config_.max_steps, "  ", record.summary, "  ", speed, " tokens/s  ",
                    format_duration(left), " left"),
                now);
}

}  // namespace cohort
