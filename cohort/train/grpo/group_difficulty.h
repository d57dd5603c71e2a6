// How difficult prompts are among those seen so far, for GFPO's adaptive difficulty (arXiv:2508.09726).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/rl/batch.h"

namespace cohort {

/// Remembers the mean rewards of the newest groups. The paper estimates their quartiles by a t-digest over
/// the whole run; these are exact, and follow the policy as it improves.
class GroupDifficulty {
 public:
  static constexpr size_t kMostMeans = 4096;

  /// Sets how many samples to keep of each group (adaptive_group_k), by its mean reward among those of
  /// earlier steps; then remembers the means of these groups. A group without rewards counts as most
  /// difficult and is not remembered.
  void assign(std::vector<Group>& groups);

  Json save() const;
  void load(const Json& state);

 private:
  std::deque<double> means_;
};

}  // namespace cohort
