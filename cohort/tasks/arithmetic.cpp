// Multi-step arithmetic: the value of a bracketed expression, always a positive integer.
#include "cohort/tasks/generators.h"

namespace cohort {

Json draw_arithmetic(const TaskConfig& config, CounterRng& rng) {
  RandomExpression expression = draw_expression(config, rng);
  return {{"prompt",
           str("Compute ", expression.text, ".\nReply as <think>steps</think><answer>number</answer>.\n")},
          {"answer", expression.value},
          {"solution", worked_completion(expression.steps, str(expression.value))}};
}

}  // namespace cohort
