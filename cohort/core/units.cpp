#include "cohort/core/units.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iterator>
#include <sstream>

#include "libs/common/str.h"

namespace cohort {
namespace {

std::string two_digits(int64_t number) { return str(number < 10 ? "0" : "", number); }

}  // namespace

std::string format_duration(double seconds) {
  const int64_t total = std::llround(std::max(seconds, 0.0));
  if (total < 60) return str(total, " s");
  if (total < 3600) return str(total / 60, " min ", two_digits(total % 60), " s");
  return str(total / 3600, " h ", two_digits(total / 60 % 60), " min");
}

std::string format_bytes(int64_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < std::size(units); ++unit) value /= 1024.0;
  std::ostringstream text;
  text << std::fixed << std::setprecision(unit == 0 ? 0 : 1) << value << " " << units[unit];
  return text.str();
}

}  // namespace cohort
