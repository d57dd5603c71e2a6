// Code that the generators share: one `draw_<name>` per line of tasks.def, and random expressions with a
// value.
#pragma once

#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/tasks/task.h"
#include "libs/common/random.h"
#include "libs/common/str.h"

namespace cohort {

#define TASK(name, meaning) Json draw_##name(const TaskConfig& config, CounterRng& rng);
#include "cohort/tasks/tasks.def"
#undef TASK

/// left op right = result; the operands are indices into the numbers, followed by the earlier results.
struct ExpressionStep {
  size_t left;
  char op;
  size_t right;
  int64_t result;
};

/// An expression over + - * / whose every step is a positive integer.
struct RandomExpression {
  std::vector<int64_t> numbers;  ///< in the order drawn
  std::string text;              ///< "(25 - 8) + 7": compound operands in parentheses
  std::vector<ExpressionStep> steps;
  int64_t value = 0;  ///< the last step's result
};

/// Draws `num_operands` numbers from 1 to `max_value` and joins them.
RandomExpression draw_expression(const TaskConfig& config, CounterRng& rng);

/// Joins numbers two by two in a random way; results stay below 5 * max_value.
RandomExpression join_numbers(std::vector<int64_t> numbers, const TaskConfig& config, CounterRng& rng);

/// The same expression with one step's result wrong, by 9 at most, and later steps and the value computed
/// from it; unchanged if no such slip changes the value and keeps every step a positive integer.
RandomExpression slip_once(const RandomExpression& expression, const TaskConfig& config, CounterRng& rng);

/// The worked completion: <think>, one step per line ("25 - 8 = 17"), </think>, and the answer in its tags.
std::string worked_completion(const RandomExpression& expression, const std::string& answer);

}  // namespace cohort
