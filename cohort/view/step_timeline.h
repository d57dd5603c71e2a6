// Which part of a step ran when, from its timings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/records/figures.h"

namespace cohort {

struct StepPart {
  std::string name;     ///< of `timing_s/{name}`; "other" is the rest of the step
  double from_s = 0.0;  ///< seconds after the step's begin
  double seconds = 0.0;
};

/// The parts of a step that took time, in the order in which they run. Rewards beside sampling begin with it;
/// an evaluation follows the step. Empty if the run has no timings of the step.
std::vector<StepPart> step_parts(const Figures& figures, int64_t step);

}  // namespace cohort
