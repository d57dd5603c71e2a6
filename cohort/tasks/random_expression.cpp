#include <optional>
#include <utility>

#include "cohort/tasks/generators.h"

namespace cohort {
namespace {

constexpr int kMaxTries = 1000;
constexpr int64_t kFarthestSlip = 9;

struct Term {
  int64_t value;
  std::string text;
  bool is_compound;
  size_t place;  // among numbers and results
};

std::string as_operand(const Term& term) { return term.is_compound ? str("(", term.text, ")") : term.text; }

// Nothing where the result is no positive integer below `limit`.
std::optional<int64_t> apply(char op, int64_t left, int64_t right, int64_t limit) {
  int64_t result = 0;
  switch (op) {
    case '+':
      result = left + right;
      break;
    case '-':
      result = left - right;
      break;
    case '*':
      result = left * right;
      break;
    default:
      if (left % right != 0) return std::nullopt;
      result = left / right;
  }
  if (result <= 0 || result >= limit) return std::nullopt;
  return result;
}

// Replaces two terms of the pool by their combination. It ends because some pair always combines: a - b or a
// / a.
void combine_two(std::vector<Term>& pool, int64_t limit, RandomExpression& expression, CounterRng& rng) {
  while (true) {
    size_t left = rng.below(pool.size());
    size_t right = rng.below(pool.size());
    char op = "+-*/"[rng.below(4)];
    if (left == right) continue;
    std::optional<int64_t> value = apply(op, pool[left].value, pool[right].value, limit);
    if (!value) continue;
    Term joined{*value, str(as_operand(pool[left]), " ", op, " ", as_operand(pool[right])), true,
                expression.numbers.size() + expression.steps.size()};
    expression.steps.push_back({pool[left].place, op, pool[right].place, *value});
    pool[left] = std::move(joined);
    pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(right));
    return;
  }
}

// The expression with this result of a step, and what follows from it; nothing where a later step then has no
// value.
std::optional<RandomExpression> with_result(RandomExpression expression, size_t wrong_step, int64_t result,
                                            int64_t limit) {
  if (result <= 0 || result >= limit) return std::nullopt;
  std::vector<int64_t> values = expression.numbers;
  for (size_t i = 0; i < expression.steps.size(); ++i) {
    ExpressionStep& step = expression.steps[i];
    const std::optional<int64_t> value =
        i == wrong_step ? result : apply(step.op, values[step.left], values[step.right], limit);
    if (!value) return std::nullopt;
    step.result = *value;
    values.push_back(*value);
  }
  expression.value = values.back();
  return expression;
}

}  // namespace

RandomExpression draw_expression(const TaskConfig& config, CounterRng& rng) {
  std::vector<int64_t> numbers;
  numbers.reserve(config.num_operands);
  for (int64_t i = 0; i < config.num_operands; ++i) {
    numbers.push_back(static_cast<int64_t>(1 + rng.below(static_cast<uint64_t>(config.max_value))));
  }
  return join_numbers(std::move(numbers), config, rng);
}

RandomExpression join_numbers(std::vector<int64_t> numbers, const TaskConfig& config, CounterRng& rng) {
  RandomExpression expression;
  std::vector<Term> pool;
  pool.reserve(numbers.size());
  for (const int64_t number : numbers) pool.push_back({number, str(number), false, pool.size()});
  expression.numbers = std::move(numbers);
  while (pool.size() > 1) combine_two(pool, 5 * config.max_value, expression, rng);
  expression.text = pool[0].text;
  expression.value = pool[0].value;
  return expression;
}

RandomExpression slip_once(const RandomExpression& expression, const TaskConfig& config, CounterRng& rng) {
  for (int i = 0; i < kMaxTries; ++i) {
    const size_t step = rng.below(expression.steps.size());
    const int64_t distance = 1 + static_cast<int64_t>(rng.below(kFarthestSlip));
    const int64_t wrong = expression.steps[step].result + (rng.below(2) == 0 ? distance : -distance);
    const std::optional<RandomExpression> attempt =
        with_result(expression, step, wrong, 5 * config.max_value);
    if (attempt && attempt->value != expression.value) return *attempt;
  }
  return expression;
}

std::string worked_completion(const RandomExpression& expression, const std::string& answer) {
  std::vector<int64_t> values = expression.numbers;
  std::string text;
  for (const ExpressionStep& step : expression.steps) {
    text += str(text.empty() ? "<think>" : "\n", values[step.left], " ", step.op, " ", values[step.right],
                " = ", step.result);
    values.push_back(step.result);
  }
  return text + "</think>\n<answer>" + answer + "</answer>";
}

}  // namespace cohort
