// Reads a judge's message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/rewards/judge/judge_prompt.h"

namespace cohort {

struct JudgeVote {
  std::vector<double> scores;               ///< one per criterion or trajectory; empty where the vote failed
  std::string failure;                      ///< why it did
  std::vector<std::string> explanations{};  ///< one per trajectory
};

/// The message must end with a JSON object (in a fence or not) in which every criterion is a number within
/// the scale. Another object before it that gives other scores makes the vote fail: one of the two may be a
/// quotation of what is judged. What a message holds in <think> tags at its start does not count.
JudgeVote read_judge_vote(std::string_view message, const JudgeScale& scale);

/// The same for a group: the object is {"scores": [{"trajectory_id", "explanation", "score"}, ...]} as ART's
/// RULER has it, with each of the trajectories "1" to "`num_trajectories`" once, in any order, and scores of
/// 0 to 1.
JudgeVote read_group_vote(std::string_view message, int64_t num_trajectories);

}  // namespace cohort
