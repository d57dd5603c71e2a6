#include "cohort/view/query.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "libs/common/excerpt.h"
#include "libs/common/nearest.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string decoded(std::string_view raw) {
  std::string text;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '%') {
      text += raw[i] == '+' ? ' ' : raw[i];
      continue;
    }
    const int high = i + 2 < raw.size() ? digit_of(raw[i + 1]) : -1;
    const int low = i + 2 < raw.size() ? digit_of(raw[i + 2]) : -1;
    if (high < 0 || low < 0)
      throw RequestError(
          400, str("the query has a broken escape in ", excerpt(raw), "; write %25 for a percent sign"));
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (find_invalid_utf8(text)) throw RequestError(400, str("the query is no UTF-8 in ", excerpt(raw)));
  return text;
}

/// The number that is all of `text`; nothing if it is none.
template <typename Number>
std::optional<Number> parsed(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && !text.empty() ? std::optional(value) : std::nullopt;
}

}  // namespace

Query::Query(std::string_view raw) {
  for (size_t begin = 0; begin < raw.size();) {
    const size_t end = std::min(raw.find('&', begin), raw.size());
    const std::string_view pair = raw.substr(begin, end - begin);
    const size_t mark = std::min(pair.find('='), pair.size());
    if (!pair.empty())
      parameters_.emplace_back(decoded(pair.substr(0, mark)),
                               mark < pair.size() ? decoded(pair.substr(mark + 1)) : std::string());
    begin = end + 1;
  }
}

std::optional<std::string> Query::text(std::string_view name) const {
  std::optional<std::string> found;
  for (const auto& [key, value] : parameters_) {
    if (key == name) found = value;
  }
  return found;
}

std::vector<std::string> Query::texts(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [key, value] : parameters_) {
    if (key == name) found.push_back(value);
  }
  return found;
}

std::optional<int64_t> Query::integer(std::string_view name, int64_t low, int64_t high) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const std::optional<int64_t> number = parsed<int64_t>(*value);
  if (!number || *number < low || *number > high)
    throw RequestError(
        400, str("parameter ", name, " is ", excerpt(*value), "; give an integer from ", low, " to ", high));
  return number;
}

std::optional<double> Query::number(std::string_view name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const std::optional<double> number = parsed<double>(*value);
  if (!number || !std::isfinite(*number))
    throw RequestError(400, str("parameter ", name, " is ", excerpt(*value), "; give a number"));
  return number;
}

bool Query::flag(std::string_view name) const {
  const std::string value = text(name).value_or("0");
  if (value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  throw RequestError(400, str("parameter ", name, " is ", excerpt(value), "; give 1 or 0"));
}

void Query::check_known(std::initializer_list<const char*> names) const {
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [key, value] : parameters_) {
    if (std::ranges::find(known, key) != known.end() || key == "token") continue;
    throw RequestError(400, known.empty() ? str("unknown parameter ", excerpt(key), "; this path takes none")
                                          : str("unknown parameter ", excerpt(key), "; the nearest is \"",
                                                nearest_name(key, known), "\""));
  }
}

}  // namespace cohort
