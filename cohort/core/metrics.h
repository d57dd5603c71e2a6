// The figures of a step or an evaluation.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// Names with values, in the order in which they are written.
using Metrics = std::vector<std::pair<std::string, double>>;

}  // namespace cohort
