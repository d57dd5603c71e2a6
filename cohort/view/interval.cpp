#include "cohort/view/interval.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Of 1 to 30 degrees of freedom.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                               2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

std::string with_decimals(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace

double student_t_975(int64_t degrees_of_freedom) {
  COHORT_CHECK(degrees_of_freedom >= 1);
  if (degrees_of_freedom <= 30) return kStudent[degrees_of_freedom - 1];
  // The first terms of the expansion in 1 / degrees (Abramowitz and Stegun 26.7.5).
  const double z = 1.959963985, n = static_cast<double>(degrees_of_freedom), z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

MeanInterval mean_interval(std::span<const double> values) {
  MeanInterval result;
  double sum = 0.0, squares = 0.0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++result.count;
  }
  const auto count = static_cast<double>(result.count);
  result.mean = result.count > 0 ? sum / count : kNone;
  for (const double value : values) {
    if (!std::isnan(value)) squares += (value - result.mean) * (value - result.mean);
  }
  result.half_width =
      result.count > 1 ? student_t_975(result.count - 1) * std::sqrt(squares / (count - 1) / count) : kNone;
  return result;
}

std::string short_number(double value) {
  if (std::isnan(value)) return "-";
  const double size = std::abs(value);
  if (value != 0.0 && (size < 1e-3 || size >= 1e6)) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
  }
  const int digits = size < 1.0 ? 0 : static_cast<int>(std::floor(std::log10(size))) + 1;
  const int decimals = std::clamp(4 - digits, 0, 4);
  std::string text = with_decimals(value, decimals);
  if (decimals > 0) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string to_text(const MeanInterval& interval) {
  if (std::isnan(interval.half_width)) return short_number(interval.mean);
  if (interval.half_width < 1e-6 || interval.half_width >= 1e6)
    return short_number(interval.mean) + " ± " + short_number(interval.half_width);
  const int magnitude = static_cast<int>(std::floor(std::log10(interval.half_width)));
  const int decimals = std::clamp(1 - magnitude, 0, 7);
  return with_decimals(interval.mean, decimals) + " ± " + with_decimals(interval.half_width, decimals);
}

}  // namespace cohort
