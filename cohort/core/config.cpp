#include "cohort/core/config.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/config_values.h"

namespace cohort {

bool Limits::contains(double number) const {
  if (!std::isfinite(number)) return false;
  const bool is_above = low_is_open ? number > low : number >= low;
  const bool is_below = high_is_open ? number < high : number <= high;
  return is_above && is_below;
}

bool Limits::contains(const std::string& text) const {
  return choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end();
}

namespace {

/// Whole numbers as people write them: 100000, not 1e+05.
std::string limit_text(double limit) {
  const bool is_whole = std::abs(limit) < 1e15 && limit == std::floor(limit);
  return is_whole ? std::to_string(static_cast<int64_t>(limit)) : number_text(limit);
}

}  // namespace

std::string Limits::describe() const {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    const char* separator = text.empty() ? "" : i + 1 == choices.size() ? " or " : ", ";
    text +=
        separator + choices[i];  // "" comes first where it is a choice: the unset value, as the default says
  }
  if (std::isfinite(low)) text += (low_is_open ? "above " : "at least ") + limit_text(low);
  if (std::isfinite(low) && std::isfinite(high)) text += ", ";
  if (std::isfinite(high)) text += (high_is_open ? "below " : "at most ") + limit_text(high);
  return text;
}

namespace {

Limits interval(double low, double high, bool low_is_open, bool high_is_open) {
  Limits limits;
  limits.low = low;
  limits.high = high;
  limits.low_is_open = low_is_open;
  limits.high_is_open = high_is_open;
  return limits;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Limits at_least(double low) { return interval(low, kInfinity, false, false); }
Limits above(double low) { return interval(low, kInfinity, true, false); }
Limits between(double low, double high) { return interval(low, high, false, false); }
Limits above_up_to(double low, double high) { return interval(low, high, true, false); }
Limits at_least_below(double low, double high) { return interval(low, high, false, true); }

Limits one_of(std::vector<std::string> choices) {
  Limits limits;
  limits.choices = std::move(choices);
  return limits;
}

}  // namespace cohort
