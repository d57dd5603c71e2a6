// Format: sections in tags, one behind the other, each tag once, only white space outside; <think>...</think>
// and then <answer>...</answer> unless the recipe names others (arXiv:2501.12948, section 2.2.2). Tags that
// the prompt opens at its end count as the completion's.
#include <string_view>

#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/section_tags.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

// What is wrong with the format, or nothing.
std::string find_fault(std::string_view text, const std::vector<std::string>& tags) {
  size_t position = 0;
  for (size_t i = 0; i < tags.size(); ++i) {
    const std::string& tag = tags[i];
    const size_t found = text.find(tag);
    if (found == std::string_view::npos) return str(tag, " is missing");
    if (text.rfind(tag) != found) return str(tag, " occurs more than once");
    if (found < position) return str(tag, " is out of order");
    const bool is_opening = i % 2 == 0;
    if (is_opening && !trim(text.substr(position, found - position)).empty()) return str("text before ", tag);
    position = found + tag.size();
  }
  return trim(text.substr(position)).empty() ? "" : str("text after ", tags.back());
}

class FormatReward : public Reward {
 public:
  explicit FormatReward(std::vector<std::string> tags) : tags_(std::move(tags)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const std::string fault = find_fault(tagged_text(prompt, completion, tags_), tags_);
    return {fault.empty() ? 1.0 : 0.0, RewardStatus::kOk, fault};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    return count_tags(tagged_text(prompt, completion, tags_), tags_);
  }

 private:
  std::vector<std::string> tags_;
};

}  // namespace

RewardMaker format_reward() {
  return reward_maker<SectionTagKeys>([](const RewardConfig& config, const SectionTagKeys&) {
    return std::make_unique<FormatReward>(section_tags(config));
  });
}

}  // namespace cohort
