// Soft overlong punishment (DAPO, arXiv:2503.14476 eq. 13; TRL's get_soft_overlong_punishment): 0 up to
// L_max - L_cache tokens, then falling linearly to -1 at L_max.
#include <algorithm>

#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

class SoftOverlongReward : public Reward {
 public:
  SoftOverlongReward(int64_t longest, int64_t cache) : longest_(longest), cache_(cache) {}

  RewardResult score(const Prompt&, const Completion& completion) override {
    const auto length = completion.num_sampled();
    const double over = static_cast<double>(length - (longest_ - cache_)) / static_cast<double>(cache_);
    return {over <= 0.0 ? 0.0 : -std::min(over, 1.0), RewardStatus::kOk, str(length, " tokens")};
  }

 private:
  int64_t longest_, cache_;
};

}  // namespace

std::unique_ptr<Reward> make_soft_overlong_reward(const RewardConfig& config) {
  if (!config.max_completion_length || !config.soft_punish_cache) {
    throw ConfigError(str("reward ", config.name,
                          ": type \"soft_overlong\" needs `max_completion_length` and `soft_punish_cache`"));
  }
  if (*config.soft_punish_cache > *config.max_completion_length) {
    throw ConfigError(str("reward ", config.name, ": `soft_punish_cache` is above `max_completion_length`"));
  }
  return std::make_unique<SoftOverlongReward>(*config.max_completion_length, *config.soft_punish_cache);
}

}  // namespace cohort
