// A tool that a policy may call, and an environment that consists of tools.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/env/environment.h"
#include "cohort/env/tool_processes.h"
#include "cohort/env/worker_threads.h"

namespace cohort {

struct ToolResult {
  std::string content;             ///< a text that the policy reads
  bool is_error = false;           ///< the call did not do what it was to do; the policy may try again
  double reward = kNoReward;       ///< for the call, if an environment gives one
  std::optional<int64_t> state{};  ///< of the environment after the call; nothing: as it was
};

class Tool {
 public:
  /// `description` tells the model what the tool does; `parameters` is the JSON schema of its arguments.
  Tool(std::string name, const std::string& description, Json parameters);

  /// The same from the schema as a whole. Throws ConfigError if it is none.
  explicit Tool(Json schema);

  virtual ~Tool() = default;

  const std::string& name() const { return name_; }

  /// {"type": "function", "function": {"name", "description", "parameters"}}, as chat templates read it.
  const Json& schema() const { return schema_; }

  /// `arguments` are valid by the schema. May take its time; several threads call. Throws EnvironmentFailure.
  virtual ToolResult call(const Json& arguments, int64_t episode) = 0;

  /// The episode is over: no call of it is under way, and none comes any more.
  virtual void end(int64_t) {}

 private:
  std::string name_;
  Json schema_;
};

/// Calls the tools of a turn one after another, those of different episodes side by side. A turn without
/// calls ends the episode. A call that cannot be read, names no tool or has wrong arguments gets a text that
/// says so.
class ToolEnvironment : public Environment {
 public:
  /// `processes` have further tools; one of them may judge episodes, and one may give states. Throws
  /// ConfigError for no tool, two of one name, a schema that is not one, and two programs that do the same.
  ToolEnvironment(std::vector<std::unique_ptr<Tool>> tools,
                  std::vector<std::unique_ptr<ToolProcesses>> processes, int64_t num_threads);
  ~ToolEnvironment() override;

  Json tools() const override;
  bool gives_rewards() const override { return judge_ != nullptr; }
  bool gives_turn_rewards() const override { return gives_turn_rewards_; }
  bool gives_states() const override { return has_states_; }
  std::vector<Opening> begin(const std::vector<EpisodeStart>& starts) override;

  // For its episodes.

  /// Adds the message of role "tool" that answers a call, and what came with it. Throws EnvironmentFailure.
  void answer(const ToolCall& call, int64_t episode, Reply& reply) const;

  RewardResult judge(int64_t episode) const;
  void end(int64_t episode);

  /// Runs `job` of an episode soon. Jobs of episodes in one process of each program run one after another.
  void run(int64_t episode, std::function<void()> job);

 private:
  struct Entry;

  void add(std::unique_ptr<Tool> tool);
  void begin_one(const EpisodeStart& start, int64_t episode, Opening& opening) const;

  std::vector<std::unique_ptr<ToolProcesses>> processes_;
  std::vector<std::unique_ptr<Entry>> tools_;
  ToolProcesses* judge_ = nullptr;
  bool gives_turn_rewards_ = false, has_states_ = false;
  int64_t num_episodes_ = 0;
  int64_t num_threads_;
  WorkerThreads threads_;  // last: its jobs use the tools
};

}  // namespace cohort
