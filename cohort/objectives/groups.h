// Groups of adjacent completions, given by where they end.
#pragma once

#include <cstdint>
#include <vector>

namespace cohort {

/// Throws InternalError unless `group_ends` never falls and ends with `num_completions`.
void check_group_ends(const std::vector<int64_t>& group_ends, int64_t num_completions);

/// Calls f(begin, end) for each group.
template <typename F>
void for_each_group(const std::vector<int64_t>& group_ends, F f) {
  int64_t begin = 0;
  for (const int64_t end : group_ends) {
    f(begin, end);
    begin = end;
  }
}

}  // namespace cohort
