#include "cohort/train/run/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// The place of an update: `step` counts from the end of the warm-up.
struct Place {
  int64_t step;
  int64_t num_steps;  ///< from the end of the warm-up to the end of the run, at least 1
  int64_t num_warmup;
  double progress;  ///< of the steps, 0 to 1
};

/// A key of lr_scheduler_kwargs.
double kwarg(const OptimizerConfig& config, const char* name, double fallback) {
  const auto found = config.lr_scheduler_kwargs.find(name);
  return found == config.lr_scheduler_kwargs.end() ? fallback : found->second;
}

/// The rate at the end as a share of the peak: given as a share, or as a rate.
double least_share(const OptimizerConfig& config) {
  const double share = kwarg(config, "min_lr_rate", kwarg(config, "min_lr_ratio", 0.0));
  return config.lr_scheduler_kwargs.contains("min_lr") ? kwarg(config, "min_lr", 0.0) / config.learning_rate
                                                       : share;
}

double half_cosine(double progress) { return 0.5 * (1.0 + std::cos(std::numbers::pi * progress)); }

double linear(const OptimizerConfig&, const Place& at) { return 1.0 - at.progress; }

double cosine(const OptimizerConfig&, const Place& at) { return half_cosine(at.progress); }

double constant(const OptimizerConfig&, const Place&) { return 1.0; }

double cosine_with_restarts(const OptimizerConfig& config, const Place& at) {
  if (at.progress >= 1.0) return 0.0;
  return half_cosine(std::fmod(kwarg(config, "num_cycles", 1.0) * at.progress, 1.0));
}

double cosine_with_min_lr(const OptimizerConfig& config, const Place& at) {
  const double least = least_share(config);
  return std::max(0.0, half_cosine(at.progress) * (1.0 - least) + least);
}

double polynomial(const OptimizerConfig& config, const Place& at) {
  const double end = kwarg(config, "lr_end", 1e-7) / config.learning_rate;
  return (1.0 - end) * std::pow(1.0 - at.progress, kwarg(config, "power", 1.0)) + end;
}

double inverse_sqrt(const OptimizerConfig& config, const Place& at) {
  constexpr double kDefaultTimescale = 10000.0;
  const auto warmup = static_cast<double>(at.num_warmup);
  const double timescale = kwarg(config, "timescale", at.num_warmup > 0 ? warmup : kDefaultTimescale);
  return 1.0 / std::sqrt((static_cast<double>(at.step) + timescale) / timescale);
}

double warmup_stable_decay(const OptimizerConfig& config, const Place& at) {
  const auto step = static_cast<double>(at.step), num_steps = static_cast<double>(at.num_steps);
  const double num_decay = std::min(num_steps, kwarg(config, "num_decay_steps", 0.0));
  const double decayed = step - (num_steps - num_decay);
  if (decayed < 0.0) return 1.0;
  const double least = least_share(config);
  return half_cosine(std::min(1.0, decayed / num_decay)) * (1.0 - least) + least;
}

/// A schedule with the keys of lr_scheduler_kwargs that it takes.
struct Schedule {
  const char* name;
  double (*share)(const OptimizerConfig& config, const Place& at);
  std::vector<const char*> keys;
};

const std::vector<Schedule>& schedules() {
  static const std::vector<Schedule> all{
      {"constant", constant, {}},
      {"constant_with_warmup", constant, {}},
      {"linear", linear, {}},
      {"cosine", cosine, {}},
      {"cosine_with_restarts", cosine_with_restarts, {"num_cycles"}},
      {"cosine_with_min_lr", cosine_with_min_lr, {"min_lr", "min_lr_rate"}},
      {"polynomial", polynomial, {"lr_end", "power"}},
      {"inverse_sqrt", inverse_sqrt, {"timescale"}},
      {"warmup_stable_decay", warmup_stable_decay, {"num_decay_steps", "min_lr_ratio"}},
  };
  return all;
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const Schedule& schedule : schedules()) names.emplace_back(schedule.name);
  return names;
}

const Schedule& find_schedule(const std::string& name) {
  const auto found = std::find_if(schedules().begin(), schedules().end(),
                                  [&](const Schedule& schedule) { return name == schedule.name; });
  COHORT_CHECK(found != schedules().end(), name);
  return *found;
}

void check_kwargs(const OptimizerConfig& config) {
  const Schedule& schedule = find_schedule(config.lr_scheduler_type);
  for (const auto& [key, value] : config.lr_scheduler_kwargs) {
    const auto is_key = [&, name = &key](const char* known) { return *name == known; };
    if (std::any_of(schedule.keys.begin(), schedule.keys.end(), is_key)) continue;
    std::string known;
    for (const char* each : schedule.keys) known += (known.empty() ? "" : ", ") + std::string(each);
    throw ConfigError(str("optimizer.lr_scheduler_kwargs: \"", config.lr_scheduler_type, "\" has no ", key,
                          known.empty() ? "; it takes none" : "; it takes " + known));
  }
}

/// At least `low`, or above it where `is_open`.
void check_least(const OptimizerConfig& config, const char* key, double low, bool is_open) {
  const auto found = config.lr_scheduler_kwargs.find(key);
  if (found == config.lr_scheduler_kwargs.end()) return;
  if (is_open ? found->second > low : found->second >= low) return;
  throw ConfigError(str("optimizer.lr_scheduler_kwargs.", key, " is ", found->second, ", but must be ",
                        is_open ? "above " : "at least ", low));
}

void require_kwarg(bool is_there, const std::string& type, const char* key, const char* what) {
  if (!is_there) {
    throw ConfigError(str("optimizer.lr_scheduler_type = \"", type, "\" needs lr_scheduler_kwargs = {", key,
                          " = ...}, ", what));
  }
}

}  // namespace

void OptimizerConfig::describe(FieldVisitor& f) {
  f("learning_rate", learning_rate, "Peak learning rate of AdamW (arXiv:1711.05101).", at_least(0.0));
  f("lr_scheduler_type", lr_scheduler_type,
    "Course after the warm-up to the last step, as in transformers; `constant` has a warm-up, too.",
    one_of(schedule_names()));
  f("lr_scheduler_kwargs", lr_scheduler_kwargs,
    "Numbers of the schedule by transformers' names: `num_cycles`; `min_lr` or `min_lr_rate`; `lr_end`, "
    "`power`; `timescale`; `num_decay_steps`, `min_lr_ratio`.");
  f("warmup_steps", warmup_steps, "Updates in which the learning rate rises linearly from 0.", at_least(0));
  f("warmup_ratio", warmup_ratio, "The same as a share of all updates, rounded up.", between(0.0, 1.0));
  f("weight_decay", weight_decay, "Decoupled weight decay, of matrices only.", at_least(0.0));
  f("adam_beta1", adam_beta1, "Decay of the gradient's mean.", at_least_below(0.0, 1.0));
  f("adam_beta2", adam_beta2, "Decay of the squared gradient's mean.", at_least_below(0.0, 1.0));
  f("adam_epsilon", adam_epsilon, "Added to the root of the squared gradient's mean.", above(0.0));
  f("max_grad_norm", max_grad_norm, "Gradients with a larger norm are scaled down to it; 0 is off.",
    at_least(0.0));
}

double learning_rate(const OptimizerConfig& config, int64_t update, int64_t num_updates) {
  const int64_t num_warmup =
      config.warmup_ratio > 0.0
          ? static_cast<int64_t>(std::ceil(config.warmup_ratio * static_cast<double>(num_updates)))
          : config.warmup_steps;
  if (update < num_warmup && config.lr_scheduler_type == "warmup_stable_decay") {
    const double least = least_share(config);  // where this schedule begins, too
    return config.learning_rate *
           (static_cast<double>(update) / static_cast<double>(num_warmup) * (1.0 - least) + least);
  }
  if (update < num_warmup) {
    return config.learning_rate * static_cast<double>(update) / static_cast<double>(num_warmup);
  }
  if (config.learning_rate == 0.0) return 0.0;
  Place at{update - num_warmup, std::max<int64_t>(1, num_updates - num_warmup), num_warmup, 0.0};
  at.progress = std::min(1.0, static_cast<double>(at.step) / static_cast<double>(at.num_steps));
  return config.learning_rate * find_schedule(config.lr_scheduler_type).share(config, at);
}

void check_schedule(const OptimizerConfig& config) {
  if (config.warmup_ratio > 0.0 && config.warmup_steps > 0)
    throw ConfigError("optimizer.warmup_ratio and warmup_steps both set the warm-up: remove one of them");
  check_kwargs(config);
  const std::string& type = config.lr_scheduler_type;
  const auto has = [&](const char* key) { return config.lr_scheduler_kwargs.contains(key); };
  for (const char* key : {"min_lr", "min_lr_rate", "min_lr_ratio", "lr_end"})
    check_least(config, key, 0.0, /*is_open=*/false);
  for (const char* key : {"num_cycles", "timescale", "num_decay_steps", "power"})
    check_least(config, key, 0.0, /*is_open=*/true);
  if (type == "cosine_with_min_lr") {
    require_kwarg(has("min_lr") != has("min_lr_rate"), type, "min_lr_rate",
                  "the lowest rate as a share of learning_rate, or min_lr alone, the rate itself");
  }
  if (type == "warmup_stable_decay")
    require_kwarg(has("num_decay_steps"), type, "num_decay_steps", "the updates of the decay at the end");
  for (const char* key : {"min_lr", "lr_end"}) {
    const bool is_used = type == "polynomial" ? key == std::string("lr_end") : has(key);
    if (is_used && config.learning_rate > 0.0 && kwarg(config, key, 1e-7) >= config.learning_rate) {
      throw ConfigError(str("optimizer.lr_scheduler_kwargs.", key, " is ", kwarg(config, key, 1e-7),
                            ", but must be below learning_rate = ", config.learning_rate));
    }
  }
}

}  // namespace cohort
