// What `cohort objectives` prints.
#pragma once

#include <string>

#include "cohort/objectives/presets.h"

namespace cohort {

/// One paragraph a preset: name, paper, composition, and what it sets.
std::string presets_text();

/// One preset with its settings, each with its meaning, what a run of it sets, what it costs, and warnings.
/// Throws ConfigError for an unknown name.
std::string preset_text(const std::string& name);

}  // namespace cohort
