// Accuracy: the answer of the completion must equal the row's, as mathematics or in words.
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/section_tags.h"
#include "libs/answers/comparison.h"
#include "libs/answers/extraction.h"
#include "libs/common/excerpt.h"
#include "libs/common/long_integers.h"

namespace cohort {
namespace {

struct AccuracyKeys {
  std::vector<std::string> answer_places;
  bool rounded_gold = false;

  void describe(FieldVisitor& f) {
    f("answer_places", answer_places,
      "Where the answer is looked for, in this order: tag, boxed, phrase, expression (the default when "
      "empty).");
    f("rounded_gold", rounded_gold,
      "A decimal reference such as 33.3 also equals what rounds to it, such as 100/3.");
  }
};

// A JSON number's shortest text is what its author wrote: 0.1 is one tenth.
std::string gold_text(const Json& column) {
  if (column.is_number() || is_long_integer(column)) return to_json_text(column);
  if (!column.is_string()) return {};
  return answers::find_gold_answer(column.get_ref<const std::string&>());
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

std::string why_none(const answers::Finding& found) {
  return found.refusal.empty() ? "no answer found" : str("no answer: ", found.refusal);
}

// Can the verifier compare this gold answer with a number at all? Otherwise its row is at fault.
bool is_sound(const std::string& gold) {
  const answers::Judgement judgement = answers::judge_choice(gold, "7");
  return !judgement.gold_failure && judgement.verdict.outcome != answers::Outcome::kUndecided;
}

// An answer that cannot be read or compared is wrong, so that no policy prefers it to a wrong one. A gold
// answer that cannot be read masks its row.
RewardResult to_result(const answers::Judgement& judgement, const Prompt& prompt, const std::string& gold,
                       std::string_view answer) {
  const answers::Verdict& verdict = judgement.verdict;
  if (verdict.is_equal() || verdict.is_unequal())
    return {verdict.is_equal() ? 1.0 : 0.0, RewardStatus::kOk, str(excerpt(answer), ": ", verdict.reason)};
  const std::string failure = judgement.gold_failure     ? judgement.gold_failure->reason
                              : judgement.answer_failure ? judgement.answer_failure->reason
                                                         : verdict.reason;
  if (!is_sound(gold)) return unparsed(str(prompt.id, ": column \"answer\" (or \"solution\"): ", failure));
  const bool is_unread = judgement.answer_failure.has_value();
  return {0.0, RewardStatus::kOk, str(is_unread ? "cannot read " : "", excerpt(answer), ": ", failure)};
}

std::vector<answers::AnswerPlace> read_places(const std::vector<std::string>& names) {
  try {
    return answers::read_places(names);
  } catch (const std::invalid_argument& error) {
    throw ConfigError(str("reward.answer_places: ", error.what()));
  }
}

class AccuracyReward : public Reward {
 public:
  explicit AccuracyReward(const AccuracyKeys& keys)
      : places_(read_places(keys.answer_places)), rounds_(keys.rounded_gold) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const std::string gold = read_gold(prompt.fields);
    if (gold.empty())
      return unparsed(str(prompt.id, ": column \"answer\" (or \"solution\") holds no answer"));
    const answers::Finding found = answers::find_answer(thinking_text(prompt, completion), places_);
    const std::string number =
        answers::with_plain_numerals(gold);  // 1,25,000 is a list and, in India, a number
    RewardResult result;
    for (const std::string& reading : found.readings()) {
      RewardResult next = to_result(answers::judge_choice(gold, reading), prompt, gold, reading);
      if (next.score == 1.0) return next;
      if (number != gold && answers::judge_choice(number, reading).verdict.is_equal())
        return {1.0, RewardStatus::kOk, str(excerpt(reading), ": the gold answer, read as ", number)};
      if (rounds_ && answers::rounds_to(reading, gold))
        return {1.0, RewardStatus::kOk, str(excerpt(reading), ": rounds to the gold answer")};
      if (reading == found.text) result = next;
    }
    return found.text ? result : RewardResult{0.0, RewardStatus::kOk, why_none(found)};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const std::string gold = read_gold(prompt.fields);
    const answers::Finding found = answers::find_answer(thinking_text(prompt, completion), places_);
    std::vector<Remark> remarks = {{"answer", answers::describe_finding(found)}};
    if (found.text) remarks.push_back({"answer read as", answers::describe_choice(*found.text)});
    remarks.push_back({"reference", gold.empty() ? "none" : shown(gold)});
    if (!gold.empty()) remarks.push_back({"reference read as", answers::describe_choice(gold)});
    return remarks;
  }

  std::string answer(const Prompt& prompt, const Completion& completion) const override {
    return answers::find_answer(thinking_text(prompt, completion), places_).text.value_or("");
  }

  bool is_same_answer(const std::string& one, const std::string& other) const override {
    return one == other || answers::judge_choice(one, other).verdict.is_equal();
  }

 private:
  std::vector<answers::AnswerPlace> places_;
  bool rounds_;
};

}  // namespace

RewardMaker accuracy_reward() {
  return reward_maker<AccuracyKeys>(
      [](const RewardConfig&, const AccuracyKeys& keys) { return std::make_unique<AccuracyReward>(keys); });
}

}  // namespace cohort
