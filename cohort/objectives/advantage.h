// From rewards to group-relative advantages (GRPO, arXiv:2402.03300 section 4.1.2), in double precision.
// Legend: P prompts, G completions each, B = P * G; a completion is *valid* when it has a reward at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

/// What the centred rewards are divided by: the group's standard deviation, the batch's, or nothing (Dr.
/// GRPO).
enum class ScaleRewards { kGroup, kBatch, kNone };

/// Reads "group", "batch" or "none". Throws ConfigError for anything else.
ScaleRewards parse_scale_rewards(const std::string& name);

/// One number per completion, with completions of one prompt side by side.
struct TotalRewards {
  std::vector<double> values;  ///< [B]; meaningless where `valid` is 0
  std::vector<uint8_t> valid;  ///< [B]
};

/// Appends a group's weighted sums. A completion is valid when every reward that applies to it (any status
/// but skipped) is ok and finite and at least one does: a reward that failed is never counted as 0.
void append_total_rewards(const RewardMatrix& rewards, std::span<const double> weights, TotalRewards& totals);

struct Advantages {
  std::vector<double> values;     ///< [B]; exactly 0 for invalid completions and in groups without difference
  std::vector<uint8_t> zero_std;  ///< [P]; 1 where all valid rewards of the group are the same number
  double reward_mean = 0.0;       ///< over the valid completions of the batch; 0 when there are none
  double reward_std = 0.0;        ///< Bessel-corrected, over the same; 0 for fewer than two
  double frac_reward_zero_std = 0.0;  ///< mean of `zero_std`
  /// [B] per token, under process supervision; empty otherwise, where all tokens have the completion's.
  std::vector<std::vector<float>> tokens{};
  std::vector<std::vector<float>> returns{};  ///< [B] per token, what a critic learns; empty without one
};

/// A = (r - mean(group)) / (std + 1e-4), std of the group or of the raw rewards of the batch, or A = r -
/// mean(group); statistics are over valid completions, std is Bessel-corrected (arXiv:2402.03300
/// section 4.1.2 with TRL 1.16's constants; kNone is arXiv:2503.20783). Whether rewards differ is decided by
/// max == min, never by an epsilon.
Advantages group_advantages(const TotalRewards& rewards, int64_t group_size, ScaleRewards scale);

/// The same for groups of any sizes, which end before `group_ends`.
Advantages group_advantages(const TotalRewards& rewards, std::span<const int64_t> group_ends,
                            ScaleRewards scale);

}  // namespace cohort
