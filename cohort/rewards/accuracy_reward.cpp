// Accuracy: the number in the last <answer>, or else in the last \boxed{}, must equal the row's, compared
// exactly.
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/rational.h"

namespace cohort {
namespace {

// The innermost answer: \boxed{} inside <answer> counts too.
std::optional<std::string_view> find_answer(std::string_view text) {
  std::optional<std::string_view> answer = last_answer(text);
  std::optional<std::string_view> boxed = last_boxed(answer ? *answer : text);
  return boxed ? boxed : answer;
}

// Gold answers come bare, as a worked solution with tags or a box, or, as in GSM8K, after "####".
std::string_view gold_answer(std::string_view text) {
  if (std::optional<std::string_view> answer = find_answer(text)) return *answer;
  size_t marker = text.rfind("####");
  return marker == std::string_view::npos ? text : text.substr(marker + 4);
}

ParsedNumber read_gold(const Json& fields) {
  auto column = fields.find("answer");
  if (column == fields.end()) column = fields.find("solution");
  if (column == fields.end()) return {};
  // A JSON number's shortest text is what its author wrote: 0.1 is one tenth.
  if (column->is_number()) return parse_number(column->dump());
  if (!column->is_string()) return {};
  return parse_number(gold_answer(column->get_ref<const std::string&>()));
}

class AccuracyReward : public Reward {
 public:
  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    ParsedNumber gold = read_gold(prompt.fields);
    if (gold.status != NumberStatus::kOk) {
      return {0.0, RewardStatus::kUnparsed,
              str(prompt.id, ": column \"answer\" (or \"solution\") holds no number")};
    }
    std::optional<std::string_view> answer = find_answer(completion.text);
    if (!answer) return {0.0, RewardStatus::kOk, "no <answer>...</answer> and no \\boxed{}"};
    ParsedNumber number = parse_number(*answer);
    if (number.status == NumberStatus::kNotANumber) {
      return {0.0, RewardStatus::kOk, str("not a number: ", excerpt(*answer))};
    }
    if (number.status == NumberStatus::kTooLarge) {
      return {0.0, RewardStatus::kUnparsed, str("a number of more than 128 bits: ", excerpt(*answer))};
    }
    bool is_equal = number.value == gold.value;
    return {is_equal ? 1.0 : 0.0, RewardStatus::kOk, is_equal ? "" : "does not equal the row's answer"};
  }
};

}  // namespace

std::unique_ptr<Reward> make_accuracy_reward(const RewardConfig&) {
  return std::make_unique<AccuracyReward>();
}

}  // namespace cohort
