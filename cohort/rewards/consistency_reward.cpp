// Consistency: the thinking arrives at the answer that the completion states. CORA (arXiv:2606.14691) rewards
// this by a classifier of its own; here the two answers are compared.
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/section_tags.h"
#include "libs/answers/comparison.h"
#include "libs/answers/extraction.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

constexpr std::string_view kThinkingBegin = "<think>", kThinkingEnd = "</think>";

struct Answers {
  answers::Finding thought, stated;
};

/// Nothing if no thinking ends.
std::optional<Answers> find_both(const Prompt& prompt, const Completion& completion) {
  const std::string text = thinking_text(prompt, completion);
  const size_t end = text.rfind(kThinkingEnd);
  if (end == std::string::npos) return std::nullopt;
  const std::string_view whole = text;
  std::string_view thinking = whole.substr(0, end);
  const size_t begin = thinking.find(kThinkingBegin);
  if (begin != std::string_view::npos) thinking.remove_prefix(begin + kThinkingBegin.size());
  return Answers{answers::find_answer(thinking, answers::default_places()),
                 answers::find_answer(whole.substr(end + kThinkingEnd.size()), answers::default_places())};
}

bool is_same(const std::string& one, const std::string& other) {
  return one == other || answers::judge_choice(one, other).verdict.is_equal();
}

class ConsistencyReward : public Reward {
 public:
  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const std::optional<Answers> found = find_both(prompt, completion);
    if (!found) return {0.0, RewardStatus::kOk, "no thinking ends"};
    if (!found->stated.text) return {0.0, RewardStatus::kOk, "states no answer"};
    if (!found->thought.text) return {0.0, RewardStatus::kOk, "the thinking arrives at no answer"};
    const bool is_consistent = is_same(*found->thought.text, *found->stated.text);
    return {is_consistent ? 1.0 : 0.0, RewardStatus::kOk,
            str("thinks ", excerpt(*found->thought.text), " and states ", excerpt(*found->stated.text))};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const std::optional<Answers> found = find_both(prompt, completion);
    if (!found) return {};
    return {{"thinking", answers::describe_finding(found->thought)},
            {"answer", answers::describe_finding(found->stated)}};
  }
};

}  // namespace

RewardMaker consistency_reward() {
  return {[](const RewardConfig&) { return std::make_unique<ConsistencyReward>(); }};
}

}  // namespace cohort
