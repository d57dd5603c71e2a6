// Tag count: a part of the reward for every tag that stands there exactly once; a smoother start than
// `format`. Tags that the prompt opens at its end count as the completion's.
#include <string_view>

#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/section_tags.h"

namespace cohort {
namespace {

class TagCountReward : public Reward {
 public:
  explicit TagCountReward(std::vector<std::string> tags) : tags_(std::move(tags)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const std::string judged = tagged_text(prompt, completion, tags_);
    const std::string_view text = judged;
    int64_t num_once = 0;
    std::string faults;
    for (const std::string& tag : tags_) {
      const size_t found = text.find(tag);
      const bool is_once = found != std::string_view::npos && text.rfind(tag) == found;
      num_once += is_once;
      if (!is_once) faults += str(faults.empty() ? "not exactly once: " : ", ", tag);
    }
    return {static_cast<double>(num_once) / static_cast<double>(tags_.size()), RewardStatus::kOk, faults};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    return count_tags(tagged_text(prompt, completion, tags_), tags_);
  }

 private:
  std::vector<std::string> tags_;
};

}  // namespace

RewardMaker tag_count_reward() {
  return reward_maker<SectionTagKeys>([](const RewardConfig& config, const SectionTagKeys&) {
    return std::make_unique<TagCountReward>(section_tags(config));
  });
}

}  // namespace cohort
