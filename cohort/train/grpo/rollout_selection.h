// Which of the completions that were drawn a step trains on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/rl/batch.h"

namespace cohort {

/// Of the completions with these rewards (nan: none) the places, ascending, of `count` of them whose rewards
/// have the largest variance: the highest and the lowest ones (PODS, arXiv:2504.13818 section 3). Of equal
/// rewards the first are taken, of equal variances the one with fewer high rewards; completions without a
/// reward follow where the others do not suffice.
std::vector<int64_t> most_varied(std::span<const double> rewards, int64_t count);

/// Whether a prompt has been sampled enough (Reinforce-Ada, arXiv:2510.04996): "balanced", `keep` / 2 of its
/// completions are positive and keep - keep / 2 are not; "positive_focused", one is positive.
bool is_settled(const std::string& adaptive_sampling, int64_t num_positive, int64_t num_others, int64_t keep);

/// The places, ascending, of the `count` groups to train on: the first that differ and, where they do not
/// suffice, the first of the others.
std::vector<int64_t> groups_to_train_on(std::span<const uint8_t> differs, int64_t count);

/// How many prompts to draw next (dynamic sampling, arXiv:2503.14476): as many as will fill the step if
/// groups differ as often as so far, and at most `prompts_per_step`.
int64_t prompts_to_draw(int64_t num_drawn, int64_t num_differing, int64_t prompts_per_step);

/// Leaves `count` groups of the batch to train on (groups_to_train_on); `differs` is per group.
void leave_out_groups(const std::vector<uint8_t>& differs, int64_t count, Batch& batch);

/// Leaves at most `count` samples of each group to train on (most_varied); `others_count`: the others stay in
/// their group's statistics.
void keep_most_varied(int64_t count, bool others_count, Batch& batch);

}  // namespace cohort
