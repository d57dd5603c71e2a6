// Copies of an agent's program, each of which plays one episode after another.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "cohort/agent/agent_config.h"
#include "cohort/agent/agent_hub.h"

namespace cohort {

/// A copy reads {"id", "base_url", "api_key", "model", "row"} and answers with a line {"id"}, which may have
/// a "reward" or an "error". One that dies, hangs or writes nonsense fails its episode and is started again.
class AgentProcesses {
 public:
  /// `hub` must outlive this. The program starts with the first task.
  AgentProcesses(const AgentConfig& config, std::string base_url, AgentHub& hub);

  /// Waits for the episodes that are being played.
  ~AgentProcesses();

 private:
  void work();

  AgentConfig config_;
  std::string base_url_;
  AgentHub& hub_;
  std::vector<std::thread> threads_;
};

}  // namespace cohort
