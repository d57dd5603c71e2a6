// Monitors: metrics of a run held against bounds. An alarm shows evidence and does what the recipe says.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/records/tensorboard.h"
#include "cohort/train/grpo/evidence.h"
#include "cohort/train/grpo/monitor_config.h"

namespace cohort {

/// Checks the tables of a recipe against each other. Throws ConfigError.
void check_monitors(const std::vector<MonitorConfig>& monitors);

/// The highest mean of a metric over a window, and the step that it ended with.
class BestWindow {
 public:
  explicit BestWindow(int64_t length) : length_(length) {}

  /// Takes the value of a step; one that is not finite says nothing. `counts`: whether this step may be the
  /// best.
  void observe(int64_t step, double value, bool counts);

  /// None until a window is full.
  std::optional<int64_t> step() const { return step_; }

  Json save() const;
  void load(const Json& state);

 private:
  int64_t length_;
  std::deque<double> window_;
  std::optional<double> mean_;
  std::optional<int64_t> step_;
};

/// One metric's newest values. There is an alarm while the mean of a full window is out of bounds.
class Monitor {
 public:
  explicit Monitor(const MonitorConfig& config);

  const MonitorConfig& config() const { return config_; }
  const std::string& name() const { return config_.name.empty() ? config_.metric : config_.name; }

  /// Takes the value of a step. One that is not finite says nothing: the window stays as it is, and so does
  /// the alarm.
  void observe(double value);

  bool is_alarmed() const { return is_alarmed_; }

  /// At the alarm's first step and then once every `window` steps, as long as it lasts.
  bool should_warn() const { return is_alarmed_ && steps_alarmed_ % config_.window == 0; }

  /// Mean of the window; NaN until it is full.
  double mean() const;

  /// Metric, mean, range of the window and bound, in words.
  std::string evidence() const;

  /// Begins anew, with an empty window.
  void clear();

  /// Without a best mean, too.
  void forget();

  Json save() const;
  void load(const Json& state);

 private:
  /// What the mean is held against; none while nothing was best yet.
  std::optional<double> bound() const;

  MonitorConfig config_;
  std::deque<double> window_;
  std::optional<double> best_;  // mean of a full window
  bool is_alarmed_ = false;
  int64_t steps_alarmed_ = 0;  // since the alarm's first
};

/// What the monitors have to say of a step.
struct MonitorReport {
  Metrics metrics;                      ///< `monitor/NAME`, `monitor/NAME/alarm`, `monitor/NAME/masked`
  std::vector<std::string> warnings;    ///< a line each
  std::optional<std::string> stop;      ///< why the run must end
  std::optional<std::string> rollback;  ///< why it must go back
  /// With monitors that roll back: the last step before this one's windows, of the longest length, or that of
  /// the best reward over such a window, if that was earlier.
  std::optional<int64_t> sound_step;
  int64_t unseen_step = 0;  ///< the last step before this one's windows
};

/// All monitors of a run. Each step observes its metrics, in one call or several, and ends with a report.
class Monitors {
 public:
  /// `eval_steps`: steps between two evaluations, where there are any.
  explicit Monitors(const std::vector<MonitorConfig>& configs, int64_t eval_steps = 0);

  /// Throws ConfigError for a monitor whose metric is none of `metrics`, naming the nearest.
  void check_metrics(const Metrics& metrics) const;

  /// Each metric once a step.
  void observe(const Metrics& metrics);

  /// Masks the samples that an alarm concerns: they leave their group's statistics and carry no loss. Returns
  /// whether there are any.
  bool mask(Batch& step, const std::vector<Checker>& checkers);

  /// A monitor that stops the run begins anew, so that it can go on once somebody has looked.
  MonitorReport report(const Batch& step, const std::vector<Checker>& checkers);

  /// Observes the metrics of an evaluation after a step that was reported, with what their monitors have to
  /// say.
  MonitorReport report_evaluation(const Metrics& metrics);

  Json save() const;
  void load(const Json& state);

 private:
  void report_on(size_t m, const Batch& step, const std::vector<Checker>& checkers, MonitorReport& report);

  std::vector<Monitor> monitors_;
  std::vector<int64_t> num_masked_;  // one per monitor, of this step
  int64_t longest_window_ = 0;       // of those that roll back
  double reward_ = 0.0;              // of this step
  std::optional<BestWindow> best_;   // with such monitors
};

}  // namespace cohort
