// Environment: the reward that the environment of an episode gave when the episode ended.
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

class EnvironmentReward : public Reward {
 public:
  RewardResult score(const Prompt&, const Completion& completion) override {
    if (!completion.episode) return {0.0, RewardStatus::kError, "the completion had no environment"};
    return completion.episode->reward.value_or(RewardResult{0.0, RewardStatus::kSkipped, ""});
  }
};

}  // namespace

RewardMaker environment_reward() {
  return {[](const RewardConfig&) { return std::make_unique<EnvironmentReward>(); }};
}

}  // namespace cohort
