// Accuracy: the answer of the completion must equal the row's, as mathematics or in words.
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/math/choices.h"
#include "cohort/rewards/math/extraction.h"

namespace cohort {
namespace {

// A JSON number's shortest text is what its author wrote: 0.1 is one tenth.
std::string gold_text(const Json& column) {
  if (column.is_number()) return column.dump();
  if (!column.is_string()) return {};
  return math::find_gold_answer(column.get_ref<const std::string&>());
}

// The gold answer of a row; empty where no column holds one.
std::string read_gold(const Json& fields) {
  for (const char* name : {"answer", "solution"}) {
    const auto column = fields.find(name);
    if (column == fields.end()) continue;
    if (std::string gold = gold_text(*column); !gold.empty()) return gold;
  }
  return {};
}

RewardResult unparsed(std::string detail) { return {0.0, RewardStatus::kUnparsed, std::move(detail)}; }

std::string why_none(const math::Finding& found) {
  return found.refusal.empty() ? "no answer found" : str("no answer: ", found.refusal);
}

// What a completion writes badly is judged 0; what passes a limit of the verifier, or stays open, is masked.
RewardResult to_result(const math::Judgement& judgement, const Prompt& prompt, std::string_view answer) {
  if (judgement.gold_failure) {
    return unparsed(
        str(prompt.id, ": column \"answer\" (or \"solution\"): ", judgement.gold_failure->reason));
  }
  if (judgement.answer_failure) {
    const bool is_malformed = judgement.answer_failure->kind == math::ParseFailure::Kind::kMalformed;
    const std::string detail = str("cannot read ", excerpt(answer), ": ", judgement.answer_failure->reason);
    return is_malformed ? RewardResult{0.0, RewardStatus::kOk, detail} : unparsed(detail);
  }
  const math::Verdict& verdict = judgement.verdict;
  if (verdict.outcome == math::Outcome::kUndecided)
    return unparsed(str(excerpt(answer), ": ", verdict.reason));
  return {verdict.is_equal() ? 1.0 : 0.0, RewardStatus::kOk, str(excerpt(answer), ": ", verdict.reason)};
}

class AccuracyReward : public Reward {
 public:
  explicit AccuracyReward(std::vector<math::AnswerPlace> places) : places_(std::move(places)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const std::string gold = read_gold(prompt.fields);
    if (gold.empty())
      return unparsed(str(prompt.id, ": column \"answer\" (or \"solution\") holds no answer"));
    const math::Finding found = math::find_answer(completion.text, places_);
    if (!found.text) return {0.0, RewardStatus::kOk, why_none(found)};
    return to_result(math::judge_choice(gold, *found.text), prompt, *found.text);
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const std::string gold = read_gold(prompt.fields);
    const math::Finding found = math::find_answer(completion.text, places_);
    std::vector<Remark> remarks = {{"answer", found.text              ? shown(*found.text)
                                              : found.refusal.empty() ? "none found"
                                                                      : found.refusal}};
    if (found.text) remarks.push_back({"answer read as", math::describe_choice(*found.text)});
    remarks.push_back({"reference", gold.empty() ? "none" : shown(gold)});
    if (!gold.empty()) remarks.push_back({"reference read as", math::describe_choice(gold)});
    return remarks;
  }

  std::string answer(const Prompt&, const Completion& completion) const override {
    return std::string(math::find_answer(completion.text, places_).text.value_or(""));
  }

  bool is_same_answer(const std::string& one, const std::string& other) const override {
    return one == other || math::judge_choice(one, other).verdict.is_equal();
  }

 private:
  std::vector<math::AnswerPlace> places_;
};

}  // namespace

std::unique_ptr<Reward> make_accuracy_reward(const RewardConfig& config) {
  return std::make_unique<AccuracyReward>(math::read_places(config.answer_places));
}

}  // namespace cohort
