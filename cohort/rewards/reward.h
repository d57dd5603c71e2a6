// A reward function: a score and a status for one completion. A failure is a status, never an exception or a zero.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

class Reward {
 public:
  virtual ~Reward() = default;

  /// Scores `completion` of `prompt`; called from several threads at once.
  virtual RewardResult score(const Prompt& prompt, const Completion& completion) = 0;
};

/// One `[[reward]]` table of a recipe.
struct RewardConfig {
  std::string name;     ///< the metric's name, and the type where `type` is empty
  std::string type;     ///< a line of rewards.def, or "command"
  double weight = 1.0;
  std::string command;  ///< type "command": the program and its arguments, run by /bin/sh -c
  double timeout_s = 10.0;
};

/// The type names that `make_reward` knows, in the order of rewards.def.
std::vector<std::string> reward_types();

/// Builds a reward. Throws ConfigError for an unknown type, naming the nearest one.
std::unique_ptr<Reward> make_reward(const RewardConfig& config);

}  // namespace cohort
