#include "cohort/objectives/group_filter.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {

std::vector<uint8_t> best_of_groups(std::span<const double> scores, std::span<const int64_t> ends,
                                    std::span<const int64_t> lengths, std::span<const int64_t> k,
                                    const std::string& metric) {
  COHORT_CHECK(lengths.size() == scores.size() && k.size() == ends.size());
  COHORT_CHECK(metric == "length" || metric == "reward_per_token", metric);
  const auto cost = [&](int64_t i) {
    const double length = static_cast<double>(std::max<int64_t>(lengths[i], 1));
    return metric == "length" ? static_cast<double>(lengths[i]) : -scores[i] / length;
  };
  std::vector<uint8_t> is_kept(scores.size(), 0);
  for_each_group(scores, ends, [&](size_t g, int64_t begin, std::span<const double> group) {
    COHORT_CHECK(k[g] > 0);
    std::vector<int64_t> order;
    for (int64_t i = begin; i < begin + static_cast<int64_t>(group.size()); ++i) {
      if (!std::isnan(scores[i])) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return cost(a) < cost(b); });
    order.resize(std::min<size_t>(order.size(), k[g]));
    for (const int64_t i : order) is_kept[i] = 1;
  });
  return is_kept;
}

int64_t adaptive_group_k(double mean_reward, std::span<const double> seen_means) {
  if (seen_means.size() < 4) return 8;
  const auto num_below = std::ranges::count_if(seen_means, [&](double mean) { return mean < mean_reward; });
  const double share = static_cast<double>(num_below) / static_cast<double>(seen_means.size());
  return share >= 0.75 ? 4 : share >= 0.5 ? 6 : 8;
}

std::vector<uint8_t> without_pivots(std::span<const double> scores, std::span<const int64_t> ends) {
  std::vector<uint8_t> is_kept(scores.size(), 1);
  for_each_group(scores, ends, [&](size_t, int64_t begin, std::span<const double> group) {
    if (spread_of(group, 0).count % 2 == 0) return;
    const auto pivot = std::find(group.begin(), group.end(), median_of(group));
    is_kept[begin + (pivot - group.begin())] = 0;
  });
  return is_kept;
}

}  // namespace cohort
