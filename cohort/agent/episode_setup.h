// A recipe's environment or agents with all that their episodes need of a model directory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cohort/agent/agent_config.h"
#include "cohort/agent/agent_episodes.h"
#include "cohort/agent/agent_processes.h"
#include "cohort/agent/agent_server.h"
#include "cohort/env/environment_config.h"
#include "cohort/env/episodes.h"
#include "cohort/env/turn_format.h"
#include "cohort/rewards/reward_config.h"
#include "cohort/serve/api/served_model.h"

namespace cohort {

class EpisodeSetup {
 public:
  /// `environment` may be null. Without it and without agents, completions have one turn, and turns() is
  /// null. Throws ConfigError for both, and for settings that have no effect.
  EpisodeSetup(std::unique_ptr<Environment> environment, const EnvironmentConfig& config,
               const AgentConfig& agent);

  /// Adds the reward of environment or agents to a recipe's. The environment's is added if no table has it,
  /// the agents' if there is no table at all.
  void add_reward(std::vector<RewardConfig>& rewards) const;

  /// The schemas that prompts name; null if there are none.
  Json tools() const;

  /// Reads how the model's chat template writes turns, and starts agents. `params` are those that the run
  /// draws with. All references must outlive this. Throws UserError for a template that cannot be used.
  void open(const TextFormat& format, const Tokenizer& tokenizer, const DecoderConfig& model,
            const SamplingParams& params);

  /// Null before open().
  TurnHandler* turns();

  /// Whether episodes have the environment's states.
  bool gives_states() const { return environment_ != nullptr && environment_->gives_states(); }

  /// Whether completions call tools by marks of their own. Call after open().
  bool marks_calls() const {
    return format_.has_value() && !format_->tools().is_null() && format_->marks_calls();
  }

  bool is_on() const { return environment_ != nullptr || agent_.is_on(); }

 private:
  /// In the order in which they need each other.
  struct Agents {
    /// A run that is interrupted does not wait for agents that wait for the policy.
    ~Agents() {
      if (episodes) episodes->abandon();
    }

    ServedModel model;
    AgentHub hub;
    std::optional<AgentEpisodes> episodes;
    std::optional<AgentServer> server;
    std::optional<AgentProcesses> processes;
  };

  const ToolCallFormat& calls_of(const TextFormat& format, bool has_tools) const;
  void open_environment(const TextFormat& format, const Tokenizer& tokenizer,
                        const std::vector<int32_t>& stop_ids);
  void open_agents(const TextFormat& format, const Tokenizer& tokenizer, const DecoderConfig& model,
                   const SamplingParams& params);

  std::unique_ptr<Environment> environment_;
  EnvironmentConfig config_;
  AgentConfig agent_;
  std::optional<TurnFormat> format_;
  std::optional<Episodes> episodes_;
  std::unique_ptr<Agents> agents_;
};

}  // namespace cohort
