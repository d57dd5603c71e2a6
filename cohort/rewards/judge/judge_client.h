// Asks a language model on a server for a verdict.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cohort/rewards/http/endpoint.h"
#include "cohort/rewards/judge/chat_api.h"
#include "cohort/rewards/judge/judge_answer.h"
#include "cohort/rewards/judge/judge_keys.h"
#include "cohort/rewards/judge/response_cache.h"

namespace cohort {

/// What a judge is asked, and how its message is read.
struct JudgeQuestion {
  Json messages;
  Json schema;  ///< of the answer
  std::function<JudgeVote(std::string_view message)> read;
};

/// Any thread may call.
class JudgeClient {
 public:
  /// Of the reward `name` of type `type`. Without `transport` over the network. Throws ConfigError.
  JudgeClient(const std::string& name, const std::string& type, const JudgeServerKeys& keys,
              std::unique_ptr<HttpTransport> transport, Clock& clock);

  /// The answer of the cache, where it has one for vote number `index`, or of the server. Sets `status`.
  JudgeVote vote(const JudgeQuestion& question, int64_t index, RewardStatus& status);

  /// `text` with the API key cut out.
  std::string without_key(std::string text) const { return endpoint_.without_key(std::move(text)); }

  int64_t num_workers() const { return num_workers_; }

 private:
  JudgeVote ask(const JudgeQuestion& question, RewardStatus& status, std::string& message);
  Endpoint::Answer post(const JudgeQuestion& question);

  Endpoint endpoint_;
  std::string url_;
  std::string model_;
  std::optional<double> temperature_;
  int64_t num_workers_;
  std::unique_ptr<ResponseCache> cache_;
  std::atomic<AnswerFormat> format_ = AnswerFormat::kSchema;  // the best that the server did not refuse
};

}  // namespace cohort
