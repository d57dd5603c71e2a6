// Mean, spread and median of the numbers that there are: nan stands for one that there is not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

struct Spread {
  int64_t count = 0;
  double mean = 0.0;
  double std = 0.0;  ///< sqrt(squares / (count - ddof)); exactly 0 when all are the same number
  double min = 0.0;
  double max = 0.0;

  /// By comparison, never by an epsilon: the rounded mean of equal numbers need not be that number.
  bool differs() const { return max > min; }
};

/// All 0 without numbers.
Spread spread_of(std::span<const double> values, int64_t ddof);

/// The middle number, or the mean of the two in the middle; nan without numbers.
double median_of(std::span<const double> values);

/// The median of |value - median| (arXiv:2601.22582); nan without numbers.
double median_absolute_deviation(std::span<const double> values);

/// (value - mean) / (std + epsilon); exactly 0 where all numbers are the same, nan stays nan.
std::vector<double> standard_scores(std::span<const double> values, int64_t ddof, double epsilon);

/// The items [begin, end) of every group, for groups that end before `ends`.
template <typename Value, typename Visit>
void for_each_group(std::span<Value> values, std::span<const int64_t> ends, Visit visit) {
  int64_t begin = 0;
  for (size_t g = 0; g < ends.size(); ++g) {
    visit(g, begin, values.subspan(begin, ends[g] - begin));
    begin = ends[g];
  }
}

}  // namespace cohort
