#include "cohort/train/grpo/monitor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "cohort/core/error.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

const std::string& name_of(const MonitorConfig& config) {
  return config.name.empty() ? config.metric : config.name;
}

constexpr char kBestReward[] = "";  // in a checkpoint, beside the monitors' names

double mean_of(const std::deque<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Where to look, and at what.
std::string example_of(const Batch& step, int64_t place) {
  int64_t sample = place;
  for (const Group& group : step.groups) {
    const auto size = std::ssize(group.samples);
    if (sample < size) {
      return str("; for example sample ", sample, " of prompt ", group.prompt.id);
    }
    sample -= size;
  }
  return "";
}

}  // namespace

void MonitorConfig::describe(FieldVisitor& f) {
  f("metric", metric, "What is watched: any name in metrics.jsonl (docs/metrics.md).");
  f("name", name, "Name in warnings and in the metrics `monitor/NAME`; that of the metric when empty.");
  f("above", above, "Alarm while the metric's mean over the window is above this.");
  f("below", below, "Alarm while it is below this.");
  f("drop", drop,
    "Alarm while it is lower than its best of the run by this share of the best (0.3: by 30 %); one of the "
    "three "
    "must be given.",
    above_up_to(0.0, 1.0));
  f("window", window, "Steps that the mean is taken over, or evaluations; no alarm before there are so many.",
    at_least(1));
  f("action", action,
    "With an alarm: only say so, take the loss off the completions that explain it as well, end the run "
    "after a "
    "checkpoint, or go back to the newest checkpoint from before it (docs/runs.md#going-back).",
    one_of({"warn", "mask", "stop", "rollback"}));
}

void check_monitors(const std::vector<MonitorConfig>& monitors) {
  std::set<std::string> names;
  for (const MonitorConfig& monitor : monitors) {
    if (monitor.metric.empty()) throw ConfigError("a [[monitor]] table has no `metric`");
    const std::string& name = name_of(monitor);
    if (!names.insert(name).second)
      throw ConfigError(str("two monitors are named \"", name, "\": give each its own `name`"));
    if (monitor.above.has_value() + monitor.below.has_value() + monitor.drop.has_value() != 1) {
      throw ConfigError(
          str("monitor ", name, ": give one of `above`, `below` and `drop`, the bound of the alarm"));
    }
    if (monitor.masks() && !can_mask(monitor)) {
      throw ConfigError(str("monitor ", name,
                            ": action = \"mask\" is for frac_reward_zero_std, completions/clipped_ratio and "
                            "rewards/NAME/gap with `above`, and completions/length_variation with `below`; "
                            "use warn or stop"));
    }
  }
}

void BestWindow::observe(int64_t step, double value, bool counts) {
  if (!std::isfinite(value)) return;
  window_.push_back(value);
  if (std::ssize(window_) > length_) window_.pop_front();
  if (std::ssize(window_) < length_ || !counts) return;
  const double mean = mean_of(window_);
  if (mean_ && mean <= *mean_) return;
  mean_ = mean;
  step_ = step;
}

Json BestWindow::save() const {
  return {
      {"window", window_}, {"mean", mean_ ? Json(*mean_) : Json()}, {"step", step_ ? Json(*step_) : Json()}};
}

void BestWindow::load(const Json& state) {
  window_ = state.at("window").get<std::deque<double>>();
  mean_.reset();
  step_.reset();
  if (state.at("step").is_null()) return;
  mean_ = state.at("mean").get<double>();
  step_ = state.at("step").get<int64_t>();
}

Monitor::Monitor(const MonitorConfig& config) : config_(config) {}

std::optional<double> Monitor::bound() const {
  if (!config_.drop) return config_.above ? config_.above : config_.below;
  return best_ ? std::optional(*best_ - *config_.drop * std::abs(*best_)) : std::nullopt;
}

void Monitor::observe(double value) {
  if (std::isfinite(value)) {
    window_.push_back(value);
    if (std::ssize(window_) > config_.window) window_.pop_front();
  }
  const bool was_alarmed = is_alarmed_;
  const std::optional<double> limit = bound();
  is_alarmed_ = limit && (config_.above ? mean() > *limit : mean() < *limit);
  if (std::isfinite(mean()) && (!best_ || mean() > *best_)) best_ = mean();
  steps_alarmed_ = was_alarmed && is_alarmed_ ? steps_alarmed_ + 1 : 0;
}

double Monitor::mean() const {
  if (std::ssize(window_) < config_.window) return std::numeric_limits<double>::quiet_NaN();
  return mean_of(window_);
}

std::string Monitor::evidence() const {
  const auto [low, high] = std::minmax_element(window_.begin(), window_.end());
  const char* unit = config_.is_of_evaluations() ? "evaluation" : "step";
  return str("monitor ", name(), ": ", config_.metric, " is ", mean(), " over the last ", config_.window, " ",
             unit, config_.window == 1 ? "" : str("s (", *low, " to ", *high, ")"), ", ",
             config_.above ? "above " : "below ", bound().value_or(mean()),
             config_.drop
                 ? str(", which is ", 100.0 * *config_.drop, " % under its best, ", best_.value_or(mean()))
                 : "");
}

void Monitor::clear() {
  window_.clear();
  is_alarmed_ = false;
  steps_alarmed_ = 0;
}

void Monitor::forget() {
  clear();
  best_.reset();
}

Json Monitor::save() const {
  Json state{{"window", window_}, {"is_alarmed", is_alarmed_}, {"steps_alarmed", steps_alarmed_}};
  if (config_.drop) state["best"] = best_ ? Json(*best_) : Json();
  return state;
}

void Monitor::load(const Json& state) {
  window_ = state.at("window").get<std::deque<double>>();
  is_alarmed_ = state.at("is_alarmed").get<bool>();
  steps_alarmed_ = state.at("steps_alarmed").get<int64_t>();
  if (const auto best = state.find("best"); best != state.end() && !best->is_null())
    best_ = best->get<double>();
}

Monitors::Monitors(const std::vector<MonitorConfig>& configs, int64_t eval_steps)
    : monitors_(configs.begin(), configs.end()), num_masked_(configs.size()) {
  check_monitors(configs);
  for (const MonitorConfig& config : configs) {
    const int64_t steps = config.is_of_evaluations() ? eval_steps : 1;
    if (config.rolls_back()) longest_window_ = std::max(longest_window_, config.window * steps);
  }
  if (longest_window_ > 0) best_.emplace(longest_window_);
}

void Monitors::check_metrics(const Metrics& metrics) const {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics) names.push_back(name);
  for (const Monitor& monitor : monitors_) {
    const std::string& metric = monitor.config().metric;
    if (std::find(names.begin(), names.end(), metric) != names.end()) continue;
    throw ConfigError(str("monitor ", monitor.name(), ": this run has no metric \"", metric,
                          "\"; did you mean \"", nearest_name(metric, names), "\"?"));
  }
}

void Monitors::observe(const Metrics& metrics) {
  for (const auto& [name, value] : metrics) {
    if (name == "reward") reward_ = value;
  }
  for (Monitor& monitor : monitors_) {
    for (const auto& [name, value] : metrics) {
      if (name == monitor.config().metric) monitor.observe(value);
    }
  }
}

bool Monitors::mask(Batch& step, const std::vector<Checker>& checkers) {
  std::vector<Sample*> samples;
  for_each_sample(step.groups, [&](Sample& sample) { samples.push_back(&sample); });
  bool masks_any = false;
  for (size_t m = 0; m < monitors_.size(); ++m) {
    num_masked_[m] = 0;
    if (!monitors_[m].config().masks() || !monitors_[m].is_alarmed()) continue;
    for (const int64_t place : concerned_samples(monitors_[m].config(), step, checkers)) {
      set_mask(*samples[place], LossMask::kMonitor);
      masks_any = true;
      ++num_masked_[m];
    }
  }
  return masks_any;
}

void Monitors::report_on(size_t m, const Batch& step, const std::vector<Checker>& checkers,
                         MonitorReport& report) {
  Monitor& monitor = monitors_[m];
  const std::string prefix = "monitor/" + monitor.name();
  const MonitorConfig& config = monitor.config();
  report.metrics.emplace_back(prefix, monitor.mean());
  report.metrics.emplace_back(prefix + "/alarm", monitor.is_alarmed() ? 1.0 : 0.0);
  if (config.masks()) report.metrics.emplace_back(prefix + "/masked", static_cast<double>(num_masked_[m]));
  if (!monitor.should_warn()) return;
  std::string line = monitor.evidence();
  const std::vector<int64_t> concerned = concerned_samples(config, step, checkers);
  if (!concerned.empty()) line += example_of(step, concerned.front());
  if (config.masks()) line += str("; ", num_masked_[m], " completions carry no loss");
  if (config.stops()) {
    if (!report.stop) report.stop = line;
    monitor.clear();
  } else if (config.rolls_back()) {
    report.rollback = report.rollback ? *report.rollback + "; " + line : line;
  } else {
    report.warnings.push_back(line);
  }
}

MonitorReport Monitors::report(const Batch& step, const std::vector<Checker>& checkers) {
  MonitorReport report;
  for (size_t m = 0; m < monitors_.size(); ++m) {
    if (!monitors_[m].config().is_of_evaluations()) report_on(m, step, checkers, report);
  }
  if (!best_) return report;
  best_->observe(step.step, reward_, !report.rollback);
  report.unseen_step = step.step - longest_window_;
  report.sound_step = std::min(best_->step().value_or(report.unseen_step), report.unseen_step);
  return report;
}

MonitorReport Monitors::report_evaluation(const Metrics& metrics) {
  observe(metrics);
  MonitorReport report;
  for (size_t m = 0; m < monitors_.size(); ++m) {
    if (monitors_[m].config().is_of_evaluations()) report_on(m, {}, {}, report);
  }
  return report;
}

Json Monitors::save() const {
  Json state = Json::object();
  for (const Monitor& monitor : monitors_) state[monitor.name()] = monitor.save();
  if (best_) state[kBestReward] = best_->save();
  return state;
}

void Monitors::load(const Json& state) {
  for (Monitor& monitor : monitors_) {  // one that the run did not have begins with an empty window
    monitor.forget();
    if (state.contains(monitor.name())) monitor.load(state.at(monitor.name()));
  }
  if (!best_) return;
  best_.emplace(longest_window_);
  if (state.contains(kBestReward)) best_->load(state.at(kBestReward));
}

}  // namespace cohort
