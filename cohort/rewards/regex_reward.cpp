// Regex: a pattern that must match somewhere in the completion.
#include "cohort/rewards/make_reward.h"
#include "cohort/text/regex.h"

namespace cohort {
namespace {

class RegexReward : public Reward {
 public:
  explicit RegexReward(const std::string& pattern) : regex_(pattern) {}

  RewardResult score(const Prompt&, const Completion& completion) override {
    try {
      const bool is_match = regex_.is_match(completion.text);
      return {is_match ? 1.0 : 0.0, RewardStatus::kOk, is_match ? "" : "no match"};
    } catch (const UserError& error) {
      // The completion made the search too long: it must not escape its 0 by that.
      return {0.0, RewardStatus::kOk, error.what()};
    }
  }

 private:
  Regex regex_;
};

}  // namespace

std::unique_ptr<Reward> make_regex_reward(const RewardConfig& config) {
  if (config.pattern.empty())
    throw ConfigError(str("reward ", config.name, ": type \"regex\" needs `pattern`"));
  try {
    return std::make_unique<RegexReward>(config.pattern);
  } catch (const FormatError& error) {
    throw ConfigError(str("reward ", config.name, ": `pattern`: ", error.what()));
  }
}

}  // namespace cohort
