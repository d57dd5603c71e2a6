#include "cohort/train/grpo/group_difficulty.h"

#include "cohort/objectives/group_filter.h"

namespace cohort {

void GroupDifficulty::assign(std::vector<Group>& groups) {
  const std::vector<double> seen(means_.begin(), means_.end());
  for (Group& group : groups) {
    double sum = 0.0;
    int64_t count = 0;
    for (const Sample& sample : group.samples) {
      if (!sample.has_reward()) continue;
      sum += sample.reward;
      ++count;
    }
    if (count == 0) {
      group.num_kept = adaptive_group_k(0.0, {});
      continue;
    }
    means_.push_back(sum / static_cast<double>(count));
    group.num_kept = adaptive_group_k(means_.back(), seen);
  }
  while (means_.size() > kMostMeans) means_.pop_front();
}

Json GroupDifficulty::save() const { return Json(std::vector<double>(means_.begin(), means_.end())); }

void GroupDifficulty::load(const Json& state) {
  const auto means = state.get<std::vector<double>>();
  means_.assign(means.begin(), means.end());
}

}  // namespace cohort
