// What the scheduler decides for one forward pass.
#pragma once

#include <cstdint>
#include <vector>

namespace cohort {

/// A run of tokens to forward, of a prompt or of a completion.
struct ScheduledRows {
  bool is_prompt;
  int64_t index;           ///< of the prompt, or of the sequence
  int64_t first_position;  ///< logical position of the first token
  int64_t count;
  bool reaches_end;  ///< the last row's logits give the next token
};

/// Rows of the cache to copy before the pass: the partial last page of a prompt, for one of its completions.
struct PageCopy {
  int64_t source_page;
  int64_t target_page;
  int64_t num_rows;
};

struct Schedule {
  std::vector<PageCopy> copies;
  std::vector<ScheduledRows> rows;
};

}  // namespace cohort
