#include "cohort/objectives/loss_metrics.h"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

void write_values(ByteWriter& writer, const std::map<std::string, double>& values) {
  writer(static_cast<uint64_t>(values.size()));
  for (const auto& [name, value] : values) {
    writer(name);
    writer(value);
  }
}

std::map<std::string, double> read_values(ByteReader& reader) {
  std::map<std::string, double> values;
  for (uint64_t left = reader.length(); left > 0; --left) {
    std::string name;
    reader(name);
    reader(values[name]);
  }
  return values;
}

}  // namespace

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

void LossMetrics::write(ByteWriter& writer) const {
  std::map<std::string, double> sums, counts;
  for (const auto& [name, mean] : means_) {
    sums[name] = mean.sum;
    counts[name] = mean.count;
  }
  for (const std::map<std::string, double>& values : {totals_, smallest_, largest_, sums, counts})
    write_values(writer, values);
}

void LossMetrics::read(ByteReader& reader) {
  totals_ = read_values(reader);
  smallest_ = read_values(reader);
  largest_ = read_values(reader);
  means_.clear();
  for (const auto& [name, sum] : read_values(reader)) means_[name].sum = sum;
  for (const auto& [name, count] : read_values(reader)) means_[name].count = count;
}

}  // namespace cohort
