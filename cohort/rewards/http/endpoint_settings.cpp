#include "cohort/rewards/http/endpoint_settings.h"

#include <algorithm>
#include <cstdlib>

#include "cohort/core/error.h"
#include "cohort/rewards/http/http_client.h"

namespace cohort {
namespace {

std::string read_api_key(const std::string& name, const std::string& where) {
  if (name.empty()) return "";
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') {
    throw ConfigError(
        str(where, "the environment variable ", name, ", which `api_key_env` names, is not set"));
  }
  const std::string key = value;
  const bool is_printable = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_printable) {
    throw ConfigError(str(where, "the environment variable ", name,
                          ", which `api_key_env` names, holds blanks or other characters that no key has"));
  }
  return key;
}

}  // namespace

void EndpointKeys::describe_retries(FieldVisitor& f) {
  f("retries", retries,
    "Further attempts of a request that found no server, status 408 or 429 or one of 500 and above; 2 when "
    "unset.",
    between(0, 20), OnResume::kTaken);
}

void EndpointKeys::describe_api_key_env(FieldVisitor& f) {
  f("api_key_env", api_key_env,
    "The environment variable that holds the API key, which is sent as a bearer token and never written "
    "down; none when empty.",
    OnResume::kTaken);
}

EndpointSettings read_endpoint_settings(const std::string& where, const EndpointKeys& keys,
                                        double default_timeout_s) {
  constexpr double kMaxTimeoutS = 86400.0;
  const double timeout_s = keys.timeout_s.value_or(default_timeout_s);
  if (!(timeout_s > 0.0 && timeout_s <= kMaxTimeoutS)) {
    throw ConfigError(str(where, "timeout_s = ", timeout_s,
                          " is out of range; it must be above 0 and at most ", kMaxTimeoutS));
  }
  check_http_url(keys.url, where);
  return {.url = keys.url,
          .api_key = read_api_key(keys.api_key_env, where),
          .retries = keys.retries.value_or(2),
          .timeout = seconds_of(timeout_s)};
}

}  // namespace cohort
