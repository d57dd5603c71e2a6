// Numeric: the stated number within tolerances of the reference, units and percentages understood.
#include <algorithm>

#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/section_tags.h"
#include "libs/answers/comparison.h"
#include "libs/answers/extraction.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

using answers::Finding;
using answers::Quantity;

struct NumericKeys {
  std::optional<double> absolute_tolerance;
  std::optional<double> relative_tolerance;
  std::string column;

  void describe(FieldVisitor& f) {
    f("absolute_tolerance", absolute_tolerance, "How far a number may be off, 0 when unset.", at_least(0.0));
    f("relative_tolerance", relative_tolerance,
      "How far a number may be off, as a share of the reference; 1e-9 when unset, and 0 between integers.",
      at_least(0.0));
    describe_reference_column(f, column);
  }
};

class NumericReward : public Reward {
 public:
  explicit NumericReward(const NumericKeys& keys)
      : tolerance_{.absolute = keys.absolute_tolerance.value_or(0.0),
                   .relative = keys.relative_tolerance.value_or(1e-9),
                   .integer_relative = keys.relative_tolerance.value_or(0.0)},
        column_(keys.column.empty() ? "answer" : keys.column) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const std::optional<Quantity> right = reference(prompt);
    if (!right) {
      return {0.0, RewardStatus::kUnparsed,
              str(prompt.id, ": column \"", column_, "\" must hold one number")};
    }
    const std::vector<Quantity> numbers = stated_numbers(thinking_text(prompt, completion));
    if (numbers.empty()) return {0.0, RewardStatus::kOk, "states no number, or several"};
    const auto close = std::find_if(numbers.begin(), numbers.end(), [&](const Quantity& number) {
      return answers::is_close(number, *right, tolerance_);
    });
    const bool is_right = close != numbers.end();
    return {is_right ? 1.0 : 0.0, RewardStatus::kOk,
            str("states ", answers::describe(is_right ? *close : numbers.front()))};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const std::string completed = thinking_text(prompt, completion);
    const Finding found = answers::find_answer(completed, answers::default_places());
    const std::vector<Quantity> numbers = stated_numbers(completed);
    const auto text = column_text(prompt.fields, column_);
    return {{"answer", answers::describe_finding(found)},
            {"answer read as",
             answers::describe(numbers.empty() ? std::nullopt : std::optional(numbers.front()))},
            {"reference", text ? shown(*text) : "none"},
            {"reference read as", answers::describe(reference(prompt))},
            {"tolerance", str("absolute ", tolerance_.absolute, ", relative ", tolerance_.relative)}};
  }

  std::string answer(const Prompt& prompt, const Completion& completion) const override {
    const std::vector<Quantity> numbers = stated_numbers(thinking_text(prompt, completion));
    if (numbers.empty()) return "";
    return str(Json(numbers.front().base_value).dump(), " ", answers::describe(numbers.front()));
  }

 private:
  std::optional<Quantity> reference(const Prompt& prompt) const {
    const auto text = column_text(prompt.fields, column_);
    if (!text) return std::nullopt;
    const std::string gold = answers::find_gold_answer(*text);
    const std::optional<Quantity> right = answers::read_quantity(gold);
    return right ? right : answers::read_quantity(answers::with_plain_numerals(gold));  // 1,25,000
  }

  // What the completion states, in each way that its text can be read.
  static std::vector<Quantity> stated_numbers(std::string_view completion) {
    const Finding found = answers::find_answer(completion, answers::default_places());
    std::vector<Quantity> numbers;
    for (const std::string& reading : found.readings()) {
      if (const std::optional<Quantity> number = answers::read_quantity(reading)) numbers.push_back(*number);
    }
    return numbers;
  }

  answers::Tolerance tolerance_;
  std::string column_;
};

}  // namespace

RewardMaker numeric_reward() {
  return reward_maker<NumericKeys>(
      [](const RewardConfig&, const NumericKeys& keys) { return std::make_unique<NumericReward>(keys); });
}

}  // namespace cohort
