// The settings of one monitor: a `[[monitor]]` table of a recipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/core/config.h"

namespace cohort {

struct MonitorConfig {
  std::string metric;
  std::string name;  ///< the metric's where empty
  std::optional<double> above;
  std::optional<double> below;
  std::optional<double> drop;
  int64_t window = 10;
  std::string action = "warn";

  /// What an alarm does, beside its line in the log.
  bool masks() const { return action == "mask"; }
  bool stops() const { return action == "stop"; }
  bool rolls_back() const { return action == "rollback"; }

  /// Whether evaluations give the metric, and not steps.
  bool is_of_evaluations() const { return metric.starts_with("eval_"); }

  void describe(FieldVisitor& f);
};

}  // namespace cohort
