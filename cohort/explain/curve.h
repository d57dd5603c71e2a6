// A metric over the steps of a run, and what rules ask of it: means of windows with their uncertainty, and
// the trend.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cohort/records/figures.h"

namespace cohort {

/// Some values in a row. All members are 0 for an empty window.
struct CurveWindow {
  double mean = 0.0;
  double median = 0.0;
  double error =
      0.0;  ///< standard error of the mean: the larger one by its own spread and by the curve's noise
  int64_t first_step = 0, last_step = 0;
  size_t count = 0;
};

/// a - b in units of its standard error; infinite if the difference has no error, 0 if there is none.
double standard_score(const CurveWindow& a, const CurveWindow& b);

/// By how much the line through a curve rises from its first step to its last.
struct CurveTrend {
  double change = 0.0;
  double error = 0.0;  ///< standard error, by the means of blocks, which noise in neighboring steps shares
};

/// The numbers of a metric, in the order of their steps; nulls are left out.
class Curve {
 public:
  Curve() = default;
  explicit Curve(const FigureColumn& column);
  Curve(std::vector<int64_t> steps, std::vector<double> values);

  size_t size() const { return values_.size(); }
  bool is_empty() const { return values_.empty(); }
  const std::vector<double>& values() const { return values_; }
  const std::vector<int64_t>& steps() const { return steps_; }
  double sum() const;

  /// The values from `begin` to before `end`, clamped to what there is.
  CurveWindow window(size_t begin, size_t end) const;
  CurveWindow all() const { return window(0, size()); }

  /// Values in a window: a tenth, but at least kFewestInWindow.
  size_t window_length() const;
  CurveWindow first() const { return window(0, window_length()); }
  CurveWindow last() const { return window(size() - std::min(size(), window_length()), size()); }
  CurveWindow last_half() const { return window(size() / 2, size()); }
  CurveWindow quarter(size_t which) const { return window(size() * which / 4, size() * (which + 1) / 4); }

  /// The windows with the largest and the smallest mean.
  CurveWindow highest() const;
  CurveWindow lowest() const;

  /// Standard deviation of a single value around the curve, by the differences of neighbors.
  double noise() const { return noise_; }

  CurveTrend trend() const;

  /// The values from `step` on.
  Curve from(int64_t step) const;

  static constexpr size_t kFewestInWindow = 4;

 private:
  std::vector<int64_t> steps_;
  std::vector<double> values_;
  double noise_ = 0.0;
};

}  // namespace cohort
