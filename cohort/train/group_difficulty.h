// How difficult prompts are among those seen so far, for GFPO's adaptive difficulty (arXiv:2508.09726).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/objectives/advantage.h"

namespace cohort {

/// Remembers the mean rewards of the newest groups. The paper estimates their quartiles by a t-digest over
/// the whole run; these are exact, and follow the policy as it improves.
class GroupDifficulty {
 public:
  static constexpr size_t kMostMeans = 4096;

  /// How many completions to keep of each group (adaptive_group_k), by its mean reward among those of earlier
  /// steps; then remembers the means of these groups. A group without rewards counts as most difficult and
  /// is not remembered.
  std::vector<int64_t> take(const TotalRewards& rewards, const std::vector<int64_t>& group_ends);

  Json save() const;
  void load(const Json& state);

 private:
  std::deque<double> means_;
};

}  // namespace cohort
