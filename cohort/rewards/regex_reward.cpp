// Regex: a pattern that must match somewhere in the completion.
#include "cohort/rewards/make_reward.h"
#include "libs/common/excerpt.h"
#include "libs/regex/regex.h"

namespace cohort {
namespace {

struct RegexKeys {
  std::string pattern;

  void describe(FieldVisitor& f) {
    f("pattern", pattern, "A pattern in PCRE2's syntax; a match anywhere in the completion scores 1.");
  }
};

class RegexReward : public Reward {
 public:
  explicit RegexReward(const std::string& pattern) : pattern_(pattern), regex_(pattern) {}

  RewardResult score(const Prompt&, const Completion& completion) override {
    try {
      const bool is_match = regex_.is_match(completion.text);
      return {is_match ? 1.0 : 0.0, RewardStatus::kOk, is_match ? "" : "no match"};
    } catch (const RegexError& error) {
      // The completion made the search too long: it must not escape its 0 by that.
      return {0.0, RewardStatus::kOk, error.what()};
    }
  }

  std::vector<Remark> explain(const Prompt&, const Completion& completion) const override {
    return {{"pattern", shown(pattern_)}, {"first match", first_match(completion.text)}};
  }

 private:
  std::string first_match(const std::string& text) const {
    std::vector<TextSpan> spans;
    try {
      regex_.find_all(text, spans);
    } catch (const RegexError&) {
      return "the search gave up";
    }
    for (const TextSpan& span : spans) {
      if (span.is_match)
        return str(shown(text.substr(span.begin, span.end - span.begin)), " at byte ", span.begin + 1);
    }
    return "none";
  }

  std::string pattern_;
  Regex regex_;
};

}  // namespace

RewardMaker regex_reward() {
  return reward_maker<RegexKeys>([](const RewardConfig& config, const RegexKeys& keys) {
    if (keys.pattern.empty())
      throw ConfigError(str("reward ", config.name, ": type \"regex\" needs `pattern`"));
    try {
      return std::make_unique<RegexReward>(keys.pattern);
    } catch (const RegexError& error) {
      throw ConfigError(str("reward ", config.name, ": `pattern`: ", error.what()));
    }
  });
}

}  // namespace cohort
