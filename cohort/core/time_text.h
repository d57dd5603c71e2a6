// Local times, as chat templates and run directories write them: 2027-03-04T05:06:07.
#pragma once

#include <ctime>
#include <optional>
#include <string>

namespace cohort {

std::tm present_time();

std::string to_time_text(const std::tm& time);

/// Nothing if `text` has another form or is no time of the calendar. The day of the week is filled in.
std::optional<std::tm> parse_time_text(const std::string& text);

}  // namespace cohort
