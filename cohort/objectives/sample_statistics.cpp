#include "cohort/objectives/sample_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cohort {
namespace {

std::vector<double> present_numbers(std::span<const double> values) {
  std::vector<double> present;
  for (const double value : values) {
    if (!std::isnan(value)) present.push_back(value);
  }
  return present;
}

}  // namespace

Spread spread_of(std::span<const double> values, int64_t ddof) {
  const std::vector<double> present = present_numbers(values);
  Spread spread;
  spread.count = static_cast<int64_t>(present.size());
  if (present.empty()) return spread;
  const auto [min, max] = std::minmax_element(present.begin(), present.end());
  spread.min = *min;
  spread.max = *max;
  for (const double value : present) spread.mean += value;
  spread.mean /= static_cast<double>(spread.count);
  double squares = 0.0;
  for (const double value : present) squares += (value - spread.mean) * (value - spread.mean);
  if (spread.differs()) spread.std = std::sqrt(squares / static_cast<double>(spread.count - ddof));
  return spread;
}

double median_of(std::span<const double> values) {
  std::vector<double> sorted = present_numbers(values);
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : std::midpoint(sorted[middle - 1], sorted[middle]);
}

double median_absolute_deviation(std::span<const double> values) {
  const double median = median_of(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - median));
  return median_of(deviations);
}

std::vector<double> standard_scores(std::span<const double> values, int64_t ddof, double epsilon) {
  const Spread spread = spread_of(values, ddof);
  std::vector<double> scores(values.begin(), values.end());
  for (double& score : scores) {
    if (!std::isnan(score)) score = spread.differs() ? (score - spread.mean) / (spread.std + epsilon) : 0.0;
  }
  return scores;
}

}  // namespace cohort
