#include <optional>
#include <utility>

#include "cohort/tasks/generators.h"

namespace cohort {
namespace {

struct Term {
  int64_t value;
  std::string text;
  bool is_compound;
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
    expression.steps.push_back(str(pool[left].value, " ", op, " ", pool[right].value, " = ", *value));
    Term joined{*value, str(as_operand(pool[left]), " ", op, " ", as_operand(pool[right])), true};
    pool[left] = std::move(joined);
    pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(right));
    return;
  }
}

}  // namespace

RandomExpression draw_expression(const TaskConfig& config, CounterRng& rng) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < config.num_operands; ++i) {
    numbers.push_back(static_cast<int64_t>(1 + rng.below(static_cast<uint64_t>(config.max_value))));
  }
  return join_numbers(std::move(numbers), config, rng);
}

RandomExpression join_numbers(std::vector<int64_t> numbers, const TaskConfig& config, CounterRng& rng) {
  RandomExpression expression;
  std::vector<Term> pool;
  for (const int64_t number : numbers) pool.push_back({number, str(number), false});
  expression.numbers = std::move(numbers);
  while (pool.size() > 1) combine_two(pool, 5 * config.max_value, expression, rng);
  expression.text = pool[0].text;
  expression.value = pool[0].value;
  return expression;
}

std::string worked_completion(const std::vector<std::string>& steps, const std::string& answer) {
  std::string text = "<think>";
  for (size_t i = 0; i < steps.size(); ++i) text += (i > 0 ? "\n" : "") + steps[i];
  return text + "</think>\n<answer>" + answer + "</answer>";
}

}  // namespace cohort
