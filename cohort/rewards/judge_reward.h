// Judge: a language model behind an OpenAI-compatible endpoint scores completions by a rubric.
#pragma once

#include <atomic>
#include <optional>

#include "cohort/rewards/http/endpoint.h"
#include "cohort/rewards/judge/ballot.h"
#include "cohort/rewards/judge/chat_api.h"
#include "cohort/rewards/judge/response_cache.h"
#include "cohort/rewards/reward.h"

namespace cohort {

/// A completion's votes make its reward (Ballot).
class JudgeReward : public Reward {
 public:
  /// Without `transport` over the network.
  explicit JudgeReward(const RewardConfig& config, std::unique_ptr<HttpTransport> transport = nullptr,
                       Clock& clock = machine_clock())
      : JudgeReward(config.name, read_keys<JudgeKeys>(config), std::move(transport), clock) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override;
  bool may_recover() const override { return true; }
  int64_t num_workers() const override { return num_workers_; }

 private:
  JudgeReward(const std::string& name, const JudgeKeys& keys, std::unique_ptr<HttpTransport> transport,
              Clock& clock);

  Ballot hold(const Json& messages);
  JudgeVote vote(const Json& messages, int64_t index, RewardStatus& status);
  JudgeVote ask(const Json& messages, RewardStatus& status, std::string& message);
  Endpoint::Answer post(const Json& messages);

  Endpoint endpoint_;
  JudgePrompt prompt_;
  Json schema_;
  std::string url_;
  std::string model_;
  std::optional<double> temperature_;
  int64_t num_votes_;
  int64_t num_workers_;
  std::unique_ptr<ResponseCache> cache_;
  std::atomic<AnswerFormat> format_ = AnswerFormat::kSchema;  // the best that the server did not refuse
};

}  // namespace cohort
