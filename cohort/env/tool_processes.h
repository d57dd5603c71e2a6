// Python tools and environments of the user's, in processes of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

/// An environment that cannot go on: its process ended, hangs or talks nonsense. The episode teaches nothing.
class EnvironmentFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Several copies of a program that answers the lines of docs/environments.md. All requests of an episode go
/// to one copy, which works on one request at a time. A copy that failed is started again, without its
/// episodes.
class ToolProcesses {
 public:
  /// Asks the program for its tools. Throws ConfigError if it has none or cannot say.
  ToolProcesses(std::vector<std::string> command, int64_t num_copies, double timeout_s);
  ~ToolProcesses();

  /// The JSON schemas of its tools.
  const Json& tools() const { return tools_; }

  /// Whether episodes begin and end in it.
  bool has_episodes() const { return has_episodes_; }

  /// What it says of itself: whether it judges episodes, rewards calls and gives states.
  bool gives_rewards() const { return gives_rewards_; }
  bool gives_turn_rewards() const { return gives_turn_rewards_; }
  bool gives_states() const { return gives_states_; }

  /// The answer to {"op": ..., "episode": episode, ...}; "begin" makes an episode known to its copy, which a
  /// program with episodes must know. Any thread may call. Throws EnvironmentFailure.
  Json ask(int64_t episode, Json request);

  /// The reward in the answer to a call; nan if it has none. Throws EnvironmentFailure.
  double reward_in(const Json& answer) const;

  /// The number of the state in an answer; nothing unless it gives states. Throws EnvironmentFailure.
  std::optional<int64_t> state_in(const Json& answer) const;

 private:
  struct Copy;

  void describe();
  Json exchange(Copy& copy, const Json& request);

  std::vector<std::string> command_;
  double timeout_s_;
  Json tools_;
  bool has_episodes_ = false, gives_rewards_ = false, gives_turn_rewards_ = false, gives_states_ = false;
  std::vector<std::unique_ptr<Copy>> copies_;
};

}  // namespace cohort
