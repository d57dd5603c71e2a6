// Multi-step arithmetic: the value of a bracketed expression, always a positive integer.
#include "cohort/tasks/generators.h"

namespace cohort {

Json draw_arithmetic(const TaskConfig& config, CounterRng& rng) {
  const RandomExpression expression = draw_expression(config, rng);
  CounterRng solution_rng(rng.next_u64());
  const bool is_right = solution_rng.next_unit() < config.solution_success;
  const RandomExpression solution = is_right ? expression : slip_once(expression, config, solution_rng);
  return {{"prompt",
           str("Compute ", expression.text, ".\nReply as <think>steps</think><answer>number</answer>.\n")},
          {"answer", expression.value},
          {"solution", worked_completion(solution, str(solution.value))}};
}

}  // namespace cohort
