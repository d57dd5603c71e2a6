// String check: the stated answer against a reference, byte by byte (the operations of OpenAI's string check
// grader).
#include <algorithm>

#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

bool holds(const std::string& operation, std::string_view answer, std::string_view reference) {
  if (operation == "eq") return answer == reference;
  if (operation == "ne") return answer != reference;
  if (operation == "like") return answer.find(reference) != std::string_view::npos;
  return lower_case(answer).find(lower_case(reference)) != std::string::npos;
}

class StringCheckReward : public Reward {
 public:
  explicit StringCheckReward(const RewardConfig& config)
      : operation_(config.operation.empty() ? "eq" : config.operation),
        column_(config.column.empty() ? "answer" : config.column) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const auto reference = column_text(prompt.fields, column_);
    if (!reference || trim(*reference).empty()) {
      return {0.0, RewardStatus::kUnparsed, str(prompt.id, ": column \"", column_, "\" holds no text")};
    }
    const std::string_view answer = stated_answer(completion.text).text;
    const bool is_it = holds(operation_, answer, trim(*reference));
    return {is_it ? 1.0 : 0.0, RewardStatus::kOk, str("the answer is ", excerpt(answer))};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const auto reference = column_text(prompt.fields, column_);
    return {{"answer", shown(stated_answer(completion.text).text)},
            {"reference", reference ? shown(trim(*reference)) : "none"},
            {"operation", operation_}};
  }

 private:
  std::string operation_, column_;
};

}  // namespace

std::unique_ptr<Reward> make_string_check_reward(const RewardConfig& config) {
  return std::make_unique<StringCheckReward>(config);
}

}  // namespace cohort
