// A reward function: a score and a status for one completion. A failure is a status, never an exception or a
// zero.
//
// A completion that is wrong, malformed or without an answer is judged: score 0, status ok, with the reason
// in `detail`; otherwise a policy would never learn the format. Every other status says that the verifier
// could not judge: kUnparsed (the row's own columns are missing or unreadable, or a limit of the verifier is
// exceeded), kTimeout, kError, kSandboxError. kSkipped: this reward does not apply to the row.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

class Reward {
 public:
  virtual ~Reward() = default;

  /// Scores `completion` of `prompt`; one call at a time.
  virtual RewardResult score(const Prompt& prompt, const Completion& completion) = 0;
};

/// One `[[reward]]` table of a recipe.
struct RewardConfig {
  std::string name{};  ///< the metric's name, and the type where `type` is empty
  std::string type{};  ///< a line of rewards.def
  double weight = 1.0;
  /// type "command": the program and its arguments, run by /bin/sh -c; type "code": what runs {source}
  std::string command{};
  /// type "command": the longest wait for one answer, the program's start included, kDefaultTimeoutS if
  /// unset; type "code": the longest run of one test, 2 s if unset
  std::optional<double> timeout_s{};
  // All below: type "code".
  std::string language{};                   ///< python if empty
  std::string compile{};                    ///< what makes {program} of {source}
  std::optional<int64_t> memory_mb{};       ///< for one test, 256 MiB if unset
  bool all_tests = false;                   ///< the score is 1 or 0, not the share of tests passed
  std::optional<int64_t> workers{};         ///< tests at a time, one for each core if unset
  std::vector<std::string> runtime{};       ///< more files and folders that programs may read and execute
  std::vector<std::string> waive_layers{};  ///< layers of the sandbox that may be missing
};

constexpr double kDefaultTimeoutS = 10.0;

/// The type names that `make_reward` knows, in the order of rewards.def.
std::vector<std::string> reward_types();

/// Builds a reward. Throws ConfigError for an unknown type, naming the nearest one, and for settings that are
/// missing, out of range or without effect.
std::unique_ptr<Reward> make_reward(const RewardConfig& config);

}  // namespace cohort
