// How many completions to draw of each prompt, by how often the policy succeeded with it before.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

/// Divides `total` completions among prompts with these chances of success so that the sum of
/// (1 - p^n - (1 - p)^n) * p (1 - p)^2, the chance that a group of n differs times what it is worth, is
/// largest (Knapsack RL, arXiv:2509.25849, reconstructed from secondary sources). Each has at least 2 and at
/// most `most`; of equal gains the first prompt with the smallest group has it.
std::vector<int64_t> divide_generations(std::span<const double> success, int64_t total, int64_t most);

/// Running estimates of a policy's chance of success with each prompt.
class SuccessRates {
 public:
  /// (1 + successes) / (2 + completions), in which earlier visits count half as much as the one after them:
  /// 1/2 for a prompt that is new.
  double estimate(const std::string& prompt_id) const;

  /// A visit of a prompt.
  void add(const std::string& prompt_id, int64_t num_successes, int64_t num_completions);

  Json save() const;
  void load(const Json& state);

 private:
  struct Counts {
    double successes = 0.0, completions = 0.0;
  };
  std::map<std::string, Counts> prompts_;
};

}  // namespace cohort
