// Which completions of a rollout a process draws, and how all processes get all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/dist/group.h"
#include "cohort/rl/batch.h"
#include "cohort/sampler/sampler.h"

namespace cohort {

/// Prompts with the number of their completions and the address of these.
struct RolloutShare {
  std::vector<Prompt> prompts{};
  std::vector<int64_t> sizes{};
  RolloutAddress address{};
  std::vector<int64_t> places{};  ///< of the prompts in the whole rollout
};

/// All of a rollout.
RolloutShare whole_rollout(std::vector<Prompt> prompts, std::vector<int64_t> sizes, RolloutAddress address);

/// One rollout after the other.
RolloutShare joined(const RolloutShare& first, const RolloutShare& second);

/// What process `rank` of `num_processes` draws: of each of `num_minibatches` parts of the rollout, in which
/// the prompts follow one another, about the same number of completions, those that it will train on.
/// `keeps_groups`: all completions of a prompt are drawn by one process.
RolloutShare share_of(const RolloutShare& whole, int64_t num_minibatches, bool keeps_groups, int64_t rank,
                      int64_t num_processes);

/// The groups of the whole rollout, `num_groups` of them, from those of all processes; `own` are those of
/// this process's share.
std::vector<Group> gather_groups(std::vector<Group> own, const RolloutShare& share, int64_t num_groups,
                                 dist::Group& processes);

}  // namespace cohort
