// Whether the processes of a job were started with the same run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/dist/group.h"

namespace cohort {

/// What processes must have in common, by name; texts may have many lines.
using RunFacts = std::vector<std::pair<std::string, std::string>>;

/// The files that a recipe leads to, the program and the instruction set.
RunFacts facts_of(const Section& settings);

/// Throws ConfigError, in all processes, that names a rank whose fact is another than rank 0's, and the first
/// line that differs. All must have facts of the same names.
void check_same_run(dist::Group& processes, const RunFacts& facts);

}  // namespace cohort
