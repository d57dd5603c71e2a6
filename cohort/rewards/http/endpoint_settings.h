// How a reward asks its server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/rewards/http/clock.h"
#include "cohort/rewards/reward_config.h"

namespace cohort {

struct EndpointSettings {
  std::string url{};
  std::string api_key{};  ///< sent as a bearer token; empty sends none
  int64_t retries = 2;
  Clock::Duration timeout = std::chrono::seconds(10);  ///< of one call with its retries
  std::optional<int64_t> requests_per_minute{};
  std::optional<int64_t> tokens_per_minute{};
};

/// Reads `url`, `api_key_env`, `retries`, `timeout_s` and the rate limits. The key is what the environment
/// variable that `api_key_env` names holds. Throws ConfigError for what is missing or wrong; no message holds
/// the key.
EndpointSettings read_endpoint_settings(const RewardConfig& config, double default_timeout_s);

}  // namespace cohort
