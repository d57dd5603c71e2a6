#include "cohort/explain/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace cohort {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle]);
}

double deviation_of(std::span<const double> values, double mean) {
  if (values.size() < 2) return 0.0;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

/// A curve without noise has neighbors that differ by its slope alone, which this counts as noise: no harm.
double noise_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  double squares = 0.0;
  for (size_t i = 1; i < values.size(); ++i)
    squares += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  return std::sqrt(squares / (2.0 * static_cast<double>(values.size() - 1)));
}

}  // namespace

double standard_score(const CurveWindow& a, const CurveWindow& b) {
  const double difference = a.mean - b.mean, error = std::hypot(a.error, b.error);
  if (difference == 0.0) return 0.0;
  return error > 0.0 ? difference / error
                     : std::copysign(std::numeric_limits<double>::infinity(), difference);
}

Curve::Curve(const FigureColumn& column) {
  for (size_t i = 0; i < column.values.size(); ++i) {
    if (!std::isfinite(column.values[i])) continue;
    steps_.push_back(column.steps[i]);
    values_.push_back(column.values[i]);
  }
  noise_ = noise_of(values_);
}

Curve::Curve(std::vector<int64_t> steps, std::vector<double> values)
    : steps_(std::move(steps)), values_(std::move(values)), noise_(noise_of(values_)) {}

double Curve::sum() const { return std::accumulate(values_.begin(), values_.end(), 0.0); }

CurveWindow Curve::window(size_t begin, size_t end) const {
  end = std::min(end, size());
  if (begin >= end) return {};
  const std::span<const double> values(values_.data() + begin, end - begin);
  CurveWindow window;
  window.count = values.size();
  window.mean = mean_of(values);
  window.median = median_of(values);
  window.error =
      std::max(deviation_of(values, window.mean), noise_) / std::sqrt(static_cast<double>(window.count));
  window.first_step = steps_[begin];
  window.last_step = steps_[end - 1];
  return window;
}

size_t Curve::window_length() const { return std::max(kFewestInWindow, size() / 10); }

CurveWindow Curve::highest() const {
  const size_t length = window_length();
  double sum = 0.0, largest = 0.0;
  size_t best_end = std::min(length, size());
  for (size_t end = 1; end <= size(); ++end) {
    sum += values_[end - 1];
    if (end > length) sum -= values_[end - 1 - length];
    if (end < length || (end > length && sum <= largest)) continue;
    largest = sum;
    best_end = end;
  }
  return window(best_end - std::min(best_end, length), best_end);
}

CurveWindow Curve::lowest() const {
  std::vector<double> mirrored(values_);
  for (double& value : mirrored) value = -value;
  CurveWindow lowest = Curve(steps_, std::move(mirrored)).highest();
  lowest.mean = -lowest.mean;
  lowest.median = -lowest.median;
  return lowest;
}

CurveTrend Curve::trend() const {
  constexpr size_t kMaxBlocks = 20, kFewestBlocks = 4;
  const size_t num_blocks = std::min(kMaxBlocks, size() / 2);
  if (num_blocks < kFewestBlocks) return {0.0, std::numeric_limits<double>::infinity()};
  std::vector<double> means(num_blocks);
  for (size_t b = 0; b < num_blocks; ++b) {
    const size_t begin = size() * b / num_blocks, end = size() * (b + 1) / num_blocks;
    means[b] = mean_of(std::span(values_).subspan(begin, end - begin));
  }
  const double center = 0.5 * static_cast<double>(num_blocks - 1), mean = mean_of(means);
  double spread = 0.0, product = 0.0, squares = 0.0;
  for (size_t b = 0; b < num_blocks; ++b) {
    const double x = static_cast<double>(b) - center;
    spread += x * x;
    product += x * (means[b] - mean);
  }
  const double slope = product / spread;
  for (size_t b = 0; b < num_blocks; ++b) {
    const double residual = means[b] - mean - slope * (static_cast<double>(b) - center);
    squares += residual * residual;
  }
  const auto length = static_cast<double>(num_blocks);
  return {slope * length, std::sqrt(squares / (length - 2.0) / spread) * length};
}

Curve Curve::from(int64_t step) const {
  const auto begin = std::ranges::lower_bound(steps_, step) - steps_.begin();
  return {{steps_.begin() + begin, steps_.end()}, {values_.begin() + begin, values_.end()}};
}

}  // namespace cohort
