// What the generators share: one `draw_<name>` per line of tasks.def, and random expressions that have a
// value.
#pragma once

#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/core/random.h"
#include "cohort/core/str.h"
#include "cohort/tasks/task.h"

namespace cohort {

#define TASK(name, meaning) Json draw_##name(const TaskConfig& config, CounterRng& rng);
#include "cohort/tasks/tasks.def"
#undef TASK

/// An expression over + - * / whose every step is a positive integer.
struct RandomExpression {
  std::vector<int64_t> numbers;    ///< in the order drawn
  std::string text;                ///< "(25 - 8) + 7": compound operands in parentheses
  std::vector<std::string> steps;  ///< "25 - 8 = 17", "17 + 7 = 24"
  int64_t value = 0;
};

/// Draws `num_operands` numbers from 1 to `max_value` and joins them.
RandomExpression draw_expression(const TaskConfig& config, CounterRng& rng);

/// Joins numbers two by two in a random way; results stay below 5 * max_value.
RandomExpression join_numbers(std::vector<int64_t> numbers, const TaskConfig& config, CounterRng& rng);

/// The worked completion: <think>, one step a line, </think>, and the answer in its tags.
std::string worked_completion(const std::vector<std::string>& steps, const std::string& answer);

}  // namespace cohort
