// Rows that a completion of a group has in common with the group's prompt or with completions before it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cohort/train/run/packing.h"

namespace cohort {

/// The rows that a completion takes behind its prompt: one for each token before its last sampled one; -1 if
/// no token is sampled.
int64_t rows_behind_prompt(const Completion& completion);

struct SharedRows {
  int64_t source = -1;  ///< the place in its group of the completion that has them; -1: the group's prompt
  int64_t count = 0;    ///< from the sequence's first row on
};

/// What completion `i` of the group begins with: the group's prompt, or, for a branch or in a tree, the most
/// rows that one sequence of its episode or tree before it has of the same tokens. Every row that predicts a
/// token of a prompt of its own is its own.
SharedRows shared_rows(const PackGroup& group, size_t i);

/// The rows that completion `i` adds to the prompt and the completions before it.
int64_t added_rows(const PackGroup& group, size_t i);

}  // namespace cohort
