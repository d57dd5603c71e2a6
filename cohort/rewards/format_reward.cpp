// Format: <think>...</think> and then <answer>...</answer>, each tag once, only white space outside.
#include <string_view>

#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

// What is wrong with the format, or nothing.
std::string find_fault(std::string_view text) {
  constexpr std::string_view kTags[] = {"<think>", "</think>", "<answer>", "</answer>"};
  constexpr bool kIsInside[] = {false, true, false, true};  // is free text allowed before the tag?
  size_t position = 0;
  for (size_t i = 0; i < std::size(kTags); ++i) {
    size_t found = text.find(kTags[i]);
    if (found == std::string_view::npos) return str(kTags[i], " is missing");
    if (text.rfind(kTags[i]) != found) return str(kTags[i], " occurs more than once");
    if (found < position) return str(kTags[i], " is out of order");
    std::string_view before = text.substr(position, found - position);
    if (!kIsInside[i] && !trim(before).empty()) return str("text before ", kTags[i]);
    position = found + kTags[i].size();
  }
  return trim(text.substr(position)).empty() ? "" : "text after </answer>";
}

class FormatReward : public Reward {
 public:
  RewardResult score(const Prompt&, const Completion& completion) override {
    std::string fault = find_fault(completion.text);
    return {fault.empty() ? 1.0 : 0.0, RewardStatus::kOk, fault};
  }
};

}  // namespace

std::unique_ptr<Reward> make_format_reward(const RewardConfig&) { return std::make_unique<FormatReward>(); }

}  // namespace cohort
