// Majority votes (self-consistency, arXiv:2203.11171): the answer that most completions of a prompt give.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/rewards/reward.h"
#include "cohort/rl/batch.h"

namespace cohort {

/// One completion's part in a vote.
struct Vote {
  int64_t answer = -1;  ///< equal answers have equal numbers; -1: none was read
  bool is_right = false;
};

/// The votes of a group's samples by one reward, the one with cell `column`, in order, without the samples
/// that it could not judge.
std::vector<Vote> read_votes(const Reward& reward, const Group& group, size_t column);

/// cons@k: the share of votes of k completions whose most frequent answer is right. The votes are cut into
/// blocks of k in order, and the share is the mean over the blocks; the rest stays out. Where several answers
/// are the most frequent, the right ones count by their share. Needs 1 <= k <= votes.size().
double cons_at_k(const std::vector<Vote>& votes, int64_t k);

}  // namespace cohort
