// Figures in Prometheus' text exposition format 0.0.4.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cohort/view/run_view.h"

namespace cohort {

/// A gauge for each figure with its newest value and one for the step: `rewards/exact/mean` of the run "demo"
/// is `cohort_rewards_exact_mean{run="demo",figure="rewards/exact/mean"} 0.25`. The label `figure` tells
/// figures apart whose names differ only in characters that the format lacks.
std::string prometheus_text(std::span<const RunView> runs);

/// "cohort_" and the name, each byte other than a letter, a digit or "_" replaced by "_".
std::string prometheus_name(std::string_view figure);

/// A label's value with backslashes, quotes and line feeds escaped, and bytes that are no UTF-8 replaced.
std::string prometheus_label(std::string_view value);

}  // namespace cohort
