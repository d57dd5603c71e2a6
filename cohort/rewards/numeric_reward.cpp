// Numeric: the stated number within tolerances of the reference, units and percentages understood.
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/quantity.h"

namespace cohort {
namespace {

class NumericReward : public Reward {
 public:
  explicit NumericReward(const RewardConfig& config)
      : absolute_(config.absolute_tolerance.value_or(0.0)),
        relative_(config.relative_tolerance.value_or(1e-9)),
        column_(config.column.empty() ? "answer" : config.column) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const auto reference = column_text(prompt.fields, column_);
    const auto right = reference ? read_quantity(*reference) : std::nullopt;
    if (!right) {
      return {0.0, RewardStatus::kUnparsed,
              str(prompt.id, ": column \"", column_, "\" must hold one number")};
    }
    const auto [answer, is_marked] = stated_answer(completion.text);
    // A marked answer must be one number; of prose the last one counts.
    const auto number = is_marked ? read_quantity(answer) : last_quantity(answer);
    if (!number) return {0.0, RewardStatus::kOk, "states no number, or several"};
    const bool is_right = is_close(*number, *right, absolute_, relative_);
    return {is_right ? 1.0 : 0.0, RewardStatus::kOk,
            str("states ", number->value, number->is_percent ? " %" : "")};
  }

 private:
  double absolute_, relative_;
  std::string column_;
};

}  // namespace

std::unique_ptr<Reward> make_numeric_reward(const RewardConfig& config) {
  return std::make_unique<NumericReward>(config);
}

}  // namespace cohort
