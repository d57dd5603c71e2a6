// What was drawn for a step and what its rewards say of it.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/rl/types.h"
#include "cohort/train/tensorboard.h"

namespace cohort {

/// Why completions that were drawn for a step are not trained on.
enum class Untrained : uint8_t {
  kGreedy,        ///< the greedy completion, against whose reward the others are judged
  kNotKept,       ///< beyond keep_generations
  kNoDifference,  ///< of a group whose rewards are all the same number
  kSurplus,       ///< of a group with difference beyond prompts_per_step
};

inline const char* to_string(Untrained reason) {
  constexpr const char* kNames[] = {"greedy", "not_kept", "no_difference", "surplus"};
  return kNames[static_cast<int>(reason)];
}

struct UntrainedGroup {
  RolloutGroup group;
  RewardMatrix rewards;
  Untrained reason;
  int64_t of = -1;  ///< the place in ScoredRollout::groups of the group in whose statistics it is; -1: none
};

/// The completions of a step. Those of a prompt are in the order in which they were drawn.
struct ScoredRollout {
  std::vector<RolloutGroup> groups;       ///< trained on, in the order of their prompts
  std::vector<RewardMatrix> rewards;      ///< per group
  std::vector<double> weights;            ///< per reward function
  std::vector<UntrainedGroup> untrained;  ///< drawn besides
  int64_t num_tokens = 0;                 ///< of prompts and completions; a prompt once per completion
  Metrics metrics;                        ///< `rollout/*`, where a setting decides what is trained on
};

/// The rewards of all that was drawn.
std::vector<RewardMatrix> drawn_rewards(const ScoredRollout& rollout);

/// The rows `rows` of a matrix, in that order.
RewardMatrix select_rows(const RewardMatrix& rewards, const std::vector<int64_t>& rows);

/// Appends the rows of `more`, which has the same columns.
void append_rows(const RewardMatrix& more, RewardMatrix& rewards);

/// The weighted sums of a group's rewards; nan for completions that cannot be scored.
std::vector<double> totals_or_nan(const RewardMatrix& rewards, const std::vector<double>& weights);

/// Leaves `count` groups to train on (groups_to_train_on); `differs` is per group.
void leave_out_groups(const std::vector<uint8_t>& differs, int64_t count, ScoredRollout& rollout);

/// Leaves at most `count` completions of each group to train on (most_varied); the others stay in its
/// statistics or leave them.
void keep_most_varied(int64_t count, bool others_count, ScoredRollout& rollout);

}  // namespace cohort
