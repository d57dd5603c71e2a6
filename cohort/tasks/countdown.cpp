// Countdown: a target is the value of a random expression, so every problem is solvable. The prompt lists the
// numbers in ascending order: a problem has one spelling, by which duplicates and the split are decided.
#include <algorithm>

#include "cohort/tasks/generators.h"

namespace cohort {

Json draw_countdown(const TaskConfig& config, CounterRng& rng) {
  RandomExpression expression = draw_expression(config, rng);
  std::vector<int64_t> numbers = expression.numbers;
  std::sort(numbers.begin(), numbers.end());
  std::string prompt = "Numbers:";
  for (int64_t number : numbers) prompt += str(" ", number);
  prompt += str(
      ". Target: ", expression.value,
      ".\nUse each number once with + - * /. Reply as <think>steps</think><answer>expression</answer>.\n");
  return {{"prompt", prompt},
          {"numbers", numbers},
          {"target", expression.value},
          {"solution", worked_completion(expression.steps, expression.text)}};
}

}  // namespace cohort
