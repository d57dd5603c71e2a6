// Steps of a run as an OpenTelemetry trace: the JSON form of OTLP, which Jaeger, Grafana Tempo and others
// read.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/view/run_view.h"

namespace cohort {

/// One trace with a span for each of `steps` and below it one for each of its parts. A step begins where the
/// steps and evaluations before it add up to, after the run's start; pauses of a run that was resumed are not
/// in that. Throws ConfigError for a step without timings.
Json otlp_trace(const RunView& run, const std::vector<int64_t>& steps);

/// All steps of a run that have timings, ascending.
std::vector<int64_t> timed_steps(const RunView& run);

}  // namespace cohort
