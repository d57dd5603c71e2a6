// Environment: the rewards that the environment of an episode gave its turns, and its judgement of the
// episode, which is a step at the end.
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

class EnvironmentReward : public Reward {
 public:
  RewardResult score(const Prompt&, const Completion& completion) override {
    if (!completion.episode) return {0.0, RewardStatus::kError, "the completion had no environment"};
    RewardResult result = completion.episode->reward.value_or(RewardResult{0.0, RewardStatus::kSkipped, ""});
    if (result.status != RewardStatus::kOk) return result;
    result.steps = completion.episode->turn_rewards;
    result.steps.push_back({std::ssize(completion.token_ids), result.score});
    // A wider sum, so that equal rewards in another order hardly ever have another sum.
    long double sum = 0.0;
    for (const StepReward& step : result.steps) sum += step.score;
    result.score = static_cast<double>(sum);
    return result;
  }

  bool gives_steps() const override { return true; }
};

}  // namespace

RewardMaker environment_reward() {
  return {[](const RewardConfig&) { return std::make_unique<EnvironmentReward>(); }};
}

}  // namespace cohort
