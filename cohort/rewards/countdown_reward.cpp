// Countdown: the expression in the last <answer> must use each of the row's numbers exactly once and equal
// its target.
#include <algorithm>
#include <optional>

#include "cohort/rewards/expression.h"
#include "cohort/rewards/make_reward.h"
#include "libs/common/answer_marks.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

RewardResult judged(double score, std::string detail) {
  return {score, RewardStatus::kOk, std::move(detail)};
}

RewardResult unparsed(std::string detail) { return {0.0, RewardStatus::kUnparsed, std::move(detail)}; }

std::optional<std::vector<int64_t>> read_numbers(const Json& fields) {
  auto column = fields.find("numbers");
  if (column == fields.end() || !column->is_array() || column->empty()) return std::nullopt;
  for (const Json& number : *column) {
    if (!number.is_number_integer()) return std::nullopt;
  }
  return column->get<std::vector<int64_t>>();
}

// The value of an expression and the numbers that it is made of.
std::string describe(const ExpressionValue& evaluation) {
  std::string numbers;
  for (const int64_t number : evaluation.numbers) numbers += str(numbers.empty() ? "" : " ", number);
  if (evaluation.status != ExpressionValue::Status::kOk) return str(evaluation.detail, "; numbers ", numbers);
  // Values have 128 bits, which streams don't write.
  const auto text = [](__int128 value) {
    const bool fits = value >= INT64_MIN && value <= INT64_MAX;
    return fits ? str(static_cast<int64_t>(value)) : str("about ", static_cast<double>(value));
  };
  const auto [numerator, denominator] = evaluation.value;
  return str("value ", text(numerator), denominator == 1 ? "" : " / " + text(denominator), "; numbers ",
             numbers);
}

RewardResult judge(std::string_view answer, std::vector<int64_t> numbers, int64_t target) {
  ExpressionValue evaluation = evaluate_expression(answer);
  if (evaluation.status == ExpressionValue::Status::kMalformed) {
    return judged(0.0, str("malformed answer ", excerpt(answer), ": ", evaluation.detail));
  }
  if (evaluation.status == ExpressionValue::Status::kTooDeep) return unparsed(evaluation.detail);
  std::sort(evaluation.numbers.begin(), evaluation.numbers.end());
  std::sort(numbers.begin(), numbers.end());
  if (evaluation.numbers != numbers) return judged(0.0, "does not use each number exactly once");
  if (evaluation.status == ExpressionValue::Status::kDividesByZero) return judged(0.0, evaluation.detail);
  if (evaluation.status == ExpressionValue::Status::kTooLarge) return unparsed(evaluation.detail);
  if (evaluation.value != Rational{target, 1}) return judged(0.0, "does not equal the target");
  return judged(1.0, "");
}

class CountdownReward : public Reward {
 public:
  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    std::optional<std::vector<int64_t>> numbers = read_numbers(prompt.fields);
    if (!numbers) return unparsed(str(prompt.id, ": column \"numbers\" must be a list of integers"));
    auto target = prompt.fields.find("target");
    if (target == prompt.fields.end() || !target->is_number_integer()) {
      return unparsed(str(prompt.id, ": column \"target\" must be an integer"));
    }
    std::optional<std::string_view> answer = last_answer(completion.text);
    if (!answer) return judged(0.0, "no <answer>...</answer>");
    return judge(*answer, std::move(*numbers), target->get<int64_t>());
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const std::optional<std::string_view> answer = last_answer(completion.text);
    std::vector<Remark> remarks = {{"answer", answer ? shown(*answer) : "no <answer>...</answer>"}};
    if (answer) remarks.push_back({"answer read as", describe(evaluate_expression(*answer))});
    for (const char* name : {"numbers", "target"}) {
      const auto column = prompt.fields.find(name);
      remarks.push_back({name, column == prompt.fields.end() ? "none" : shown(to_json_text(*column))});
    }
    return remarks;
  }
};

}  // namespace

RewardMaker countdown_reward() {
  return {[](const RewardConfig&) { return std::make_unique<CountdownReward>(); }};
}

}  // namespace cohort
