#include "cohort/train/group_difficulty.h"

#include "cohort/objectives/group_filter.h"
#include "cohort/objectives/groups.h"

namespace cohort {

std::vector<int64_t> GroupDifficulty::take(const TotalRewards& rewards,
                                           const std::vector<int64_t>& group_ends) {
  const std::vector<double> seen(means_.begin(), means_.end());
  std::vector<int64_t> group_k;
  group_k.reserve(group_ends.size());
  for_each_group(group_ends, [&](int64_t begin, int64_t end) {
    double sum = 0.0;
    int64_t count = 0;
    for (int64_t i = begin; i < end; ++i) {
      if (!rewards.valid[i]) continue;
      sum += rewards.values[i];
      ++count;
    }
    if (count == 0) {
      group_k.push_back(adaptive_group_k(0.0, {}));
      return;
    }
    means_.push_back(sum / static_cast<double>(count));
    group_k.push_back(adaptive_group_k(means_.back(), seen));
  });
  while (means_.size() > kMostMeans) means_.pop_front();
  return group_k;
}

Json GroupDifficulty::save() const { return Json(std::vector<double>(means_.begin(), means_.end())); }

void GroupDifficulty::load(const Json& state) {
  const auto means = state.get<std::vector<double>>();
  means_.assign(means.begin(), means.end());
}

}  // namespace cohort
