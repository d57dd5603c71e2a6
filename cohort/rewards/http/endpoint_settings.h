// How a reward asks its server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/core/config.h"
#include "cohort/rewards/http/clock.h"

namespace cohort {

/// The keys of rewards that ask a server.
struct EndpointKeys {
  std::string url;
  std::optional<double> timeout_s;
  std::optional<int64_t> retries;
  std::string api_key_env;

  void describe_retries(FieldVisitor& f);
  void describe_api_key_env(FieldVisitor& f);
};

struct EndpointSettings {
  std::string url{};
  std::string api_key{};  ///< sent as a bearer token; empty sends none
  int64_t retries = 2;
  Clock::Duration timeout = std::chrono::seconds(10);  ///< of one call with its retries
  std::optional<int64_t> requests_per_minute{};
  std::optional<int64_t> tokens_per_minute{};
};

/// The settings of a reward or tool, without rate limits; messages begin with `where`. The key is what the
/// environment variable that `api_key_env` names holds. Throws ConfigError for what is missing or wrong; no
/// message holds the key.
EndpointSettings read_endpoint_settings(const std::string& where, const EndpointKeys& keys,
                                        double default_timeout_s);

}  // namespace cohort
