// Means with their uncertainty.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace cohort {

/// A mean with the half width of its 95 % confidence interval by Student's t, as if the values were
/// independent.
struct MeanInterval {
  double mean = 0.0;        ///< NaN without values
  double half_width = 0.0;  ///< NaN for fewer than two values
  int64_t count = 0;
};

/// Leaves out NaN.
MeanInterval mean_interval(std::span<const double> values);

/// The 97.5 % quantile of Student's t distribution; at least one degree of freedom.
double student_t_975(int64_t degrees_of_freedom);

/// "0.412 ± 0.013", "0.412" without a width, "-" without values. The width has two significant digits, the
/// mean as many decimals.
std::string to_text(const MeanInterval& interval);

/// A number for people: four significant digits, no exponent between 0.001 and 1,000,000; "-" for NaN.
std::string short_number(double value);

}  // namespace cohort
