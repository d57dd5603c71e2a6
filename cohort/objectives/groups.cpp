#include "cohort/objectives/groups.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {

void check_group_ends(const std::vector<int64_t>& group_ends, int64_t num_completions) {
  const int64_t last = group_ends.empty() ? 0 : group_ends.back();
  COHORT_CHECK(std::is_sorted(group_ends.begin(), group_ends.end()) && last == num_completions &&
                   (group_ends.empty() || group_ends.front() >= 0),
               "groups end at ", last, " for ", num_completions, " completions");
}

}  // namespace cohort
