// The votes on one completion, and what comes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/rewards/judge/judge_answer.h"
#include "cohort/rewards/judge/judge_keys.h"
#include "cohort/rl/types.h"

namespace cohort {

/// The scale that `criteria` and `max_score` make. Throws ConfigError, beginning with `where`.
JudgeScale read_judge_scale(const JudgeKeys& keys, const std::string& where);

class Ballot {
 public:
  explicit Ballot(int64_t num_votes) : num_votes_(num_votes) {}

  /// Adds a vote; one that failed, with `status`.
  void add(JudgeVote vote, RewardStatus status);

  /// Whether so many votes failed that those to come change nothing.
  bool is_lost() const { return 2 * std::ssize(failures_) > num_votes_; }

  /// Each criterion's score is the mean over the valid votes, and the reward the mean over the criteria,
  /// scaled to 0..1. With fewer than half of the votes valid: kTimeout where all failures were late, else
  /// kError, with the first one's reason.
  RewardResult result(const JudgeScale& scale, const std::string& prompt_id) const;

 private:
  int64_t num_votes_;
  std::vector<JudgeVote> valid_;
  std::vector<std::string> failures_;
  bool are_all_late_ = true;
};

}  // namespace cohort
