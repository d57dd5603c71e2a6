#include "cohort/agent/agent_config.h"

#include "cohort/core/error.h"

namespace cohort {

void AgentConfig::describe(FieldVisitor& f) {
  f("command", command,
    "A program that plays episodes: it reads tasks as JSON lines, asks the policy through the run's HTTP "
    "endpoint and answers each task with a line (docs/agents.md).");
  f("serve", serve, "Without a command: agents that somebody else starts claim episodes at the endpoint.");
  f("workers", workers, "Copies of the command, each with one episode at a time.", between(1, 1024),
    OnResume::kTaken);
  f("timeout_s", timeout_s, "Seconds for an episode from its start on; then it is masked.", above(0.0),
    OnResume::kTaken);
  f("max_turns", max_turns, "Turns of the policy in an episode, at most; a further request is refused.",
    at_least(1));
  f("port", port, "Port of the endpoint at 127.0.0.1; 0 takes a free one.", between(0, 65535),
    OnResume::kTaken);
  f("model_name", model_name, "What agents give as \"model\".", OnResume::kTaken);
}

void check_agent(const AgentConfig& config) {
  if (config.serve && !config.command.empty())
    throw ConfigError("agent.serve has no effect with agent.command: remove one of them");
  if (config.is_on()) return;
  const AgentConfig defaults;
  if (config.max_turns || config.port != defaults.port || config.timeout_s != defaults.timeout_s ||
      config.workers != defaults.workers || config.model_name != defaults.model_name)
    throw ConfigError(
        "[agent] has no effect without agent.command or agent.serve: add one, or remove the section");
}

}  // namespace cohort
