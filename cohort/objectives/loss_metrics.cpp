#include "cohort/objectives/loss_metrics.h"

#include <algorithm>
#include <cmath>

namespace cohort {

void LossMetrics::add_mean(const std::string& name, double sum, double count) {
  means_[name].sum += sum;
  means_[name].count += count;
}

void LossMetrics::add_smallest(const std::string& name, double value) {
  const auto [place, is_new] = smallest_.emplace(name, value);
  if (!is_new) place->second = std::min(place->second, value);
}

void LossMetrics::add_largest(const std::string& name, double value) {
  const auto [place, is_new] = largest_.emplace(name, value);
  if (!is_new) place->second = std::max(place->second, value);
}

void LossMetrics::add(const LossMetrics& other) {
  for (const auto& [name, value] : other.totals_) add_total(name, value);
  for (const auto& [name, mean] : other.means_) add_mean(name, mean.sum, mean.count);
  for (const auto& [name, value] : other.smallest_) add_smallest(name, value);
  for (const auto& [name, value] : other.largest_) add_largest(name, value);
}

std::map<std::string, double> LossMetrics::values() const {
  std::map<std::string, double> values = totals_;
  for (const auto& [name, mean] : means_) values[name] = mean.count > 0.0 ? mean.sum / mean.count : 0.0;
  for (const auto* extremes : {&smallest_, &largest_}) {
    for (const auto& [name, value] : *extremes) values[name] = std::isinf(value) ? 0.0 : value;
  }
  return values;
}

}  // namespace cohort
