#include "cohort/core/time_text.h"

#include <cstdio>

namespace cohort {

std::tm present_time() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  localtime_r(&now, &time);
  return time;
}

std::string to_time_text(const std::tm& time) {
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &time)};
}

std::optional<std::tm> parse_time_text(const std::string& text) {
  std::tm time{};
  int end = 0;
  // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion): at most four digits always fit.
  const int count = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &time.tm_year, &time.tm_mon,
                                &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec, &end);
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  std::tm normal = time;
  timegm(&normal);
  const bool exists = normal.tm_year == time.tm_year && normal.tm_mon == time.tm_mon &&
                      normal.tm_mday == time.tm_mday && normal.tm_hour == time.tm_hour &&
                      normal.tm_min == time.tm_min && normal.tm_sec == time.tm_sec;
  if (count != 6 || end != static_cast<int>(text.size()) || !exists) return std::nullopt;
  return normal;
}

}  // namespace cohort
