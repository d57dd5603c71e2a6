// Reads a judge's message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/rewards/judge/judge_prompt.h"

namespace cohort {

struct JudgeVote {
  std::vector<double> scores;  ///< one per criterion, 0 to max_score; empty where the vote failed
  std::string failure;         ///< why it did
};

/// The message must end with a JSON object (in a fence or not) in which every criterion is a number within
/// the scale. Another object before it that gives other scores makes the vote fail: one of the two may be a
/// quotation of what is judged. What a message holds in <think> tags at its start does not count.
JudgeVote read_judge_vote(std::string_view message, const JudgeScale& scale);

}  // namespace cohort
