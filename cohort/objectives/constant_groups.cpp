#include "cohort/objectives/constant_groups.h"

#include <algorithm>
#include <span>

#include "cohort/objectives/sample_statistics.h"

namespace cohort {

std::vector<uint8_t> constant_groups(const std::vector<double>& scores, const std::vector<int64_t>& ends) {
  std::vector<uint8_t> result;
  for_each_group(std::span(scores), ends, [&](size_t, int64_t, std::span<const double> group) {
    result.push_back(!spread_of(group, 0).differs());
  });
  return result;
}

std::vector<uint8_t> groups_without_difference(const AdvantageBatch& batch, const AdvantageConfig& config) {
  if (!config.normalizes_each_reward()) return constant_groups(batch.totals, batch.ends);
  std::vector<uint8_t> result(batch.ends.size(), 1);
  for (size_t c = 0; c < batch.channels.size(); ++c) {
    if (batch.weights[c] == 0.0) continue;
    const std::vector<uint8_t> own = constant_groups(batch.channels[c], batch.ends);
    for (size_t g = 0; g < own.size(); ++g) result[g] = result[g] && own[g];
  }
  return result;
}

void clear_groups(std::vector<double>& values, const AdvantageBatch& batch, const std::vector<uint8_t>& which,
                  bool is_per_token) {
  int64_t begin = 0;
  for (size_t g = 0; g < which.size(); ++g) {
    const int64_t end = batch.ends[g];
    const int64_t first = is_per_token ? batch.offsets[begin] : begin;
    const int64_t last = is_per_token ? batch.offsets[end] : end;
    if (which[g]) std::fill(values.begin() + first, values.begin() + last, 0.0);
    begin = end;
  }
}

double informative_factor(const AdvantageBatch& batch, const std::vector<uint8_t>& is_constant) {
  int64_t num_informative = 0, begin = 0;
  for (size_t g = 0; g < is_constant.size(); ++g) {
    if (!is_constant[g]) num_informative += batch.ends[g] - begin;
    begin = batch.ends[g];
  }
  if (num_informative == 0) return 1.0;
  return static_cast<double>(batch.num_completions) / static_cast<double>(num_informative);
}

}  // namespace cohort
