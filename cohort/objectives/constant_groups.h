// Groups whose rewards are all the same number: no completion is better than another.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/objectives/advantage_batch.h"
#include "cohort/objectives/advantage_config.h"

namespace cohort {

/// [P] 1 for a group whose scores are all the same number, or that has none. `scores` and `ends` as in
/// for_each_group.
std::vector<uint8_t> constant_groups(const std::vector<double>& scores, const std::vector<int64_t>& ends);

/// [P] the same for the weighted sums of the rewards; if each reward is normalised first, for all that count.
std::vector<uint8_t> groups_without_difference(const AdvantageBatch& batch, const AdvantageConfig& config);

/// Sets the advantages of the groups in `which` [P] to 0: whitening shifts them off 0, and lengths would tell
/// equal rewards apart. `values` are [N], or [M] if `is_per_token`.
void clear_groups(std::vector<double>& values, const AdvantageBatch& batch, const std::vector<uint8_t>& which,
                  bool is_per_token);

/// Completions of the batch over those of groups that differ, so that these count for the others; 1 if no
/// group differs. GPG's alpha (arXiv:2504.02546).
double informative_factor(const AdvantageBatch& batch, const std::vector<uint8_t>& is_constant);

}  // namespace cohort
