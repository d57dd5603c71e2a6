// Soft overlong punishment (DAPO, arXiv:2503.14476 eq. 13; TRL's get_soft_overlong_punishment): 0 up to
// L_max - L_cache tokens, then falling linearly to -1 at L_max.
#include <algorithm>

#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

struct SoftOverlongKeys {
  std::optional<int64_t> max_completion_length;
  std::optional<int64_t> soft_punish_cache;

  void describe(FieldVisitor& f) {
    f("max_completion_length", max_completion_length, "Tokens from which the reward is -1; required.",
      at_least(1));
    f("soft_punish_cache", soft_punish_cache,
      "Tokens before max_completion_length over which the reward falls; required.", at_least(1));
  }
};

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

RewardMaker soft_overlong_reward() {
  return reward_maker<SoftOverlongKeys>([](const RewardConfig& config, const SoftOverlongKeys& keys) {
    const auto [longest, cache] = keys;
    const std::string where = str("reward ", config.name, ": ");
    if (!longest || !cache) {
      throw ConfigError(
          str(where, "type \"soft_overlong\" needs `max_completion_length` and `soft_punish_cache`"));
    }
    if (*cache > *longest)
      throw ConfigError(str(where, "`soft_punish_cache` is above `max_completion_length`"));
    return std::make_unique<SoftOverlongReward>(*longest, *cache);
  });
}

}  // namespace cohort
