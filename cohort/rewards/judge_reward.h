// Judge: a language model behind an OpenAI-compatible endpoint scores completions by a rubric.
#pragma once

#include "cohort/rewards/judge/ballot.h"
#include "cohort/rewards/judge/judge_client.h"
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
  int64_t num_workers() const override { return client_.num_workers(); }

 private:
  JudgeReward(const std::string& name, const JudgeKeys& keys, std::unique_ptr<HttpTransport> transport,
              Clock& clock);

  Ballot hold(Json messages);

  JudgeClient client_;
  JudgePrompt prompt_;
  int64_t num_votes_;
};

}  // namespace cohort
