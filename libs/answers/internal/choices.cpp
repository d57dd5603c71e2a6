#include "libs/answers/comparison.h"
#include "libs/answers/internal/verdict.h"
#include "libs/answers/internal/words.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

struct Choice {
  std::optional<char> letter;
  std::string_view text;  // of the choice, or all of the answer; empty for a letter alone
  bool is_denied = false;
};

Choice read_choice(std::string_view answer) {
  if (const auto letter = find_choice(answer)) return {letter, {}, false};
  if (const auto labelled = find_labelled_choice(answer))
    return {labelled->letter, labelled->text, labelled->is_denied};
  return {std::nullopt, answer, false};
}

}  // namespace

Judgement judge_choice(std::string_view gold, std::string_view answer) {
  const Choice right = read_choice(gold), other = read_choice(answer);
  if (right.is_denied != other.is_denied) return {unequal("a choice is denied"), std::nullopt, std::nullopt};
  const bool has_label = (right.letter && !right.text.empty()) || (other.letter && !other.text.empty());
  if (!has_label) return judge(gold, answer);
  if (!right.letter || !other.letter) {
    // A letter alone says nothing of a value.
    if (right.text.empty() || other.text.empty()) return judge(gold, answer);
    return judge(right.text, other.text);
  }
  if (*right.letter != *other.letter) return {unequal("different choices"), std::nullopt, std::nullopt};
  if (right.text.empty() || other.text.empty()) {
    const auto second = find_choice(right.text.empty() ? other.text : right.text);
    const bool is_other = second && *second != *right.letter;
    return {is_other ? unequal("another choice stands behind it") : equal("the same choice"), std::nullopt,
            std::nullopt};
  }
  if (right.text == other.text) return {equal("the same choice"), std::nullopt, std::nullopt};
  const Verdict verdict = judge(right.text, other.text).verdict;
  if (verdict.is_equal()) return {equal("the same choice"), std::nullopt, std::nullopt};
  if (verdict.is_unequal())
    return {unequal("the same choice with different texts"), std::nullopt, std::nullopt};
  return {undecided("the texts of the same choice cannot be compared"), std::nullopt, std::nullopt};
}

std::string describe_choice(std::string_view answer) {
  const auto labelled = find_labelled_choice(answer);
  if (!labelled) return describe_answer(answer);
  return str("choice ", labelled->letter, ", ", describe_answer(labelled->text));
}

}  // namespace cohort::answers
