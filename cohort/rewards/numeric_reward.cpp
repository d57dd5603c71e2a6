// Numeric: the stated number within tolerances of the reference, units and percentages understood.
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/quantity.h"

namespace cohort {
namespace {

// In words, such as "12.5 %" or "3 (length, 1000 base units)".
std::string describe(const std::optional<Quantity>& quantity) {
  constexpr const char* kDimensions[] = {"",      "length", "mass",    "time",  "volume",
                                         "speed", "angle",  "dollars", "euros", "pounds"};
  if (!quantity) return "no number, or several";
  const std::string number = str(quantity->value, quantity->is_percent ? " %" : "");
  if (quantity->dimension == Dimension::kNone) return number;
  return str(number, " (", kDimensions[static_cast<int>(quantity->dimension)], ", ", quantity->unit,
             " base units)");
}

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
    const auto number = stated_quantity(stated_answer(completion.text));
    if (!number) return {0.0, RewardStatus::kOk, "states no number, or several"};
    const bool is_right = is_close(*number, *right, absolute_, relative_);
    return {is_right ? 1.0 : 0.0, RewardStatus::kOk,
            str("states ", number->value, number->is_percent ? " %" : "")};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const StatedAnswer answer = stated_answer(completion.text);
    const auto reference = column_text(prompt.fields, column_);
    return {{answer.is_marked ? "answer" : "answer, the last number of", shown(answer.text)},
            {"answer read as", describe(stated_quantity(answer))},
            {"reference", reference ? shown(*reference) : "none"},
            {"reference read as", describe(reference ? read_quantity(*reference) : std::nullopt)},
            {"tolerance", str("absolute ", absolute_, ", relative ", relative_)}};
  }

  std::string answer(const Prompt&, const Completion& completion) const override {
    const auto number = stated_quantity(stated_answer(completion.text));
    if (!number) return "";
    return str(Json(number->value).dump(), number->is_percent ? "%" : "", " ",
               static_cast<int>(number->dimension), " ", number->unit);
  }

 private:
  // A marked answer must be one number; of prose the last one counts.
  static std::optional<Quantity> stated_quantity(const StatedAnswer& answer) {
    return answer.is_marked ? read_quantity(answer.text) : last_quantity(answer.text);
  }

  double absolute_, relative_;
  std::string column_;
};

}  // namespace

std::unique_ptr<Reward> make_numeric_reward(const RewardConfig& config) {
  return std::make_unique<NumericReward>(config);
}

}  // namespace cohort
