// The endpoint of a run whose episodes agents play.
#pragma once

#include <memory>
#include <string>

#include "cohort/agent/agent_config.h"
#include "cohort/agent/agent_hub.h"
#include "cohort/http/http_server.h"
#include "cohort/serve/api_server.h"

namespace cohort {

/// Serves the policy at 127.0.0.1. An API key names the episode of a request. Agents that nobody started
/// claim episodes by POST /v1/episodes/claim, and any agent may end its own by POST /v1/episodes/KEY/reward
/// with {"reward": number} or {"error": text}.
class AgentServer {
 public:
  /// `model` and `hub` must outlive this. Throws ConfigError for a port that cannot be used.
  AgentServer(const AgentConfig& config, const ServedModel& model, AgentHub& hub);
  ~AgentServer();

  std::string base_url() const;

 private:
  bool route(const IncomingRequest& request, HttpAnswer& answer);
  Json claimed();

  AgentConfig config_;
  AgentHub& hub_;
  ServerCounts counts_;
  ApiServer api_;
  HttpServer http_;
};

}  // namespace cohort
