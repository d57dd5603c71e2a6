// The tags that a recipe asks completions to have.
#pragma once

#include <string>
#include <vector>

#include "cohort/rewards/reward.h"

namespace cohort {

/// "<think>", "</think>", "<answer>", "</answer>", or the same of `tags`. Throws ConfigError for a name that
/// is empty, comes twice, or has more than letters, digits, "_", "-", "|" and ":".
std::vector<std::string> section_tags(const RewardConfig& config);

/// How often each tag stands in a completion, for explanations.
std::vector<Remark> count_tags(std::string_view text, const std::vector<std::string>& tags);

}  // namespace cohort
