#include "cohort/rewards/math/choices.h"

#include "cohort/core/str.h"
#include "cohort/rewards/math/words.h"

namespace cohort::math {
namespace {

struct Choice {
  std::optional<char> letter;
  std::string_view text;  // of the choice, or all of the answer; empty for a letter alone
};

Choice read_choice(std::string_view answer) {
  if (const auto letter = find_choice(answer)) return {letter, {}};
  if (const auto labelled = find_labelled_choice(answer)) return {labelled->letter, labelled->text};
  return {std::nullopt, answer};
}

}  // namespace

Judgement judge_choice(std::string_view gold, std::string_view answer) {
  const Choice right = read_choice(gold), other = read_choice(answer);
  const bool has_label = (right.letter && !right.text.empty()) || (other.letter && !other.text.empty());
  if (!has_label) return judge(gold, answer);
  if (!right.letter || !other.letter) {
    // A letter alone says nothing of a value.
    if (right.text.empty() || other.text.empty()) return judge(gold, answer);
    return judge(right.text, other.text);
  }
  if (*right.letter != *other.letter) return {unequal("different choices"), std::nullopt, std::nullopt};
  const bool has_other_text =
      !right.text.empty() && !other.text.empty() && judge(right.text, other.text).verdict.is_unequal();
  return {has_other_text ? unequal("the same choice with different texts") : equal("the same choice"),
          std::nullopt, std::nullopt};
}

std::string describe_choice(std::string_view answer) {
  const auto labelled = find_labelled_choice(answer);
  if (!labelled) return describe_answer(answer);
  return str("choice ", labelled->letter, ", ", describe_answer(labelled->text));
}

}  // namespace cohort::math
