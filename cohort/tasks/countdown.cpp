// Countdown: a target is the value of a random expression, so every problem is solvable. The prompt lists the
// numbers in ascending order: a problem has one spelling, by which duplicates and the split are decided.
#include <algorithm>

#include "cohort/tasks/generators.h"

namespace cohort {
namespace {

constexpr int kMaxTries = 1000;

/// A worked try over the same numbers that misses the target, or, where none is found, the expression itself.
RandomExpression draw_miss(const RandomExpression& expression, const TaskConfig& config, CounterRng& rng) {
  for (int i = 0; i < kMaxTries; ++i) {
    RandomExpression attempt = join_numbers(expression.numbers, config, rng);
    if (attempt.value != expression.value) return attempt;
  }
  return expression;
}

}  // namespace

Json draw_countdown(const TaskConfig& config, CounterRng& rng) {
  const RandomExpression expression = draw_expression(config, rng);
  CounterRng solution_rng(rng.next_u64());
  const bool is_right = solution_rng.next_unit() < config.solution_success;
  const RandomExpression solution = is_right ? expression : draw_miss(expression, config, solution_rng);
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
          {"solution", worked_completion(solution, solution.text)}};
}

}  // namespace cohort
