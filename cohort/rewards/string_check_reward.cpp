// String check: the stated answer against a reference, byte by byte (the operations of OpenAI's string check
// grader).
#include <algorithm>

#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

struct StringCheckKeys {
  std::string operation;
  std::string column;

  void describe(FieldVisitor& f) {
    f("operation", operation,
      "Equal, unequal, or the reference is contained, in any case of letters for ilike; eq when empty.",
      one_of({"", "eq", "ne", "like", "ilike"}));
    describe_reference_column(f, column);
  }
};

bool holds(const std::string& operation, std::string_view answer, std::string_view reference) {
  if (operation == "eq") return answer == reference;
  if (operation == "ne") return answer != reference;
  if (operation == "like") return answer.find(reference) != std::string_view::npos;
  return lower_case(answer).find(lower_case(reference)) != std::string::npos;
}

class StringCheckReward : public Reward {
 public:
  explicit StringCheckReward(const StringCheckKeys& keys)
      : operation_(keys.operation.empty() ? "eq" : keys.operation),
        column_(keys.column.empty() ? "answer" : keys.column) {}

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

RewardMaker string_check_reward() {
  return reward_maker<StringCheckKeys>([](const RewardConfig&, const StringCheckKeys& keys) {
    return std::make_unique<StringCheckReward>(keys);
  });
}

}  // namespace cohort
