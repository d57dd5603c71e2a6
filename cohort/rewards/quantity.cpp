#include "cohort/rewards/quantity.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string>

#include "cohort/core/ascii.h"

namespace cohort {
namespace {

struct Unit {
  const char* name;
  Dimension dimension;
  double size;
};

// Names in lower case; plurals are found by their singular.
constexpr Unit kUnits[] = {
    {"mm", Dimension::kLength, 1e-3},
    {"millimeter", Dimension::kLength, 1e-3},
    {"cm", Dimension::kLength, 1e-2},
    {"centimeter", Dimension::kLength, 1e-2},
    {"m", Dimension::kLength, 1.0},
    {"meter", Dimension::kLength, 1.0},
    {"metre", Dimension::kLength, 1.0},
    {"km", Dimension::kLength, 1e3},
    {"kilometer", Dimension::kLength, 1e3},
    {"inch", Dimension::kLength, 0.0254},
    {"inche", Dimension::kLength, 0.0254},
    {"ft", Dimension::kLength, 0.3048},
    {"foot", Dimension::kLength, 0.3048},
    {"feet", Dimension::kLength, 0.3048},
    {"yd", Dimension::kLength, 0.9144},
    {"yard", Dimension::kLength, 0.9144},
    {"mi", Dimension::kLength, 1609.344},
    {"mile", Dimension::kLength, 1609.344},
    {"mg", Dimension::kMass, 1e-6},
    {"g", Dimension::kMass, 1e-3},
    {"gram", Dimension::kMass, 1e-3},
    {"kg", Dimension::kMass, 1.0},
    {"kilogram", Dimension::kMass, 1.0},
    {"tonne", Dimension::kMass, 1e3},
    {"oz", Dimension::kMass, 0.028349523125},
    {"ounce", Dimension::kMass, 0.028349523125},
    {"lb", Dimension::kMass, 0.45359237},
    {"pound", Dimension::kMass, 0.45359237},
    {"ms", Dimension::kTime, 1e-3},
    {"s", Dimension::kTime, 1.0},
    {"sec", Dimension::kTime, 1.0},
    {"second", Dimension::kTime, 1.0},
    {"min", Dimension::kTime, 60.0},
    {"minute", Dimension::kTime, 60.0},
    {"h", Dimension::kTime, 3600.0},
    {"hr", Dimension::kTime, 3600.0},
    {"hour", Dimension::kTime, 3600.0},
    {"day", Dimension::kTime, 86400.0},
    {"week", Dimension::kTime, 604800.0},
    {"ml", Dimension::kVolume, 1e-3},
    {"milliliter", Dimension::kVolume, 1e-3},
    {"l", Dimension::kVolume, 1.0},
    {"liter", Dimension::kVolume, 1.0},
    {"litre", Dimension::kVolume, 1.0},
    {"m/s", Dimension::kSpeed, 1.0},
    {"km/h", Dimension::kSpeed, 1.0 / 3.6},
    {"mph", Dimension::kSpeed, 0.44704},
    {"degree", Dimension::kAngle, std::numbers::pi / 180.0},
    {"deg", Dimension::kAngle, std::numbers::pi / 180.0},
    {"\u00b0", Dimension::kAngle, std::numbers::pi / 180.0},
    {"rad", Dimension::kAngle, 1.0},
    {"radian", Dimension::kAngle, 1.0},
    {"$", Dimension::kDollar, 1.0},
    {"usd", Dimension::kDollar, 1.0},
    {"dollar", Dimension::kDollar, 1.0},
    {"cent", Dimension::kDollar, 0.01},
    {"\u20ac", Dimension::kEuro, 1.0},
    {"eur", Dimension::kEuro, 1.0},
    {"euro", Dimension::kEuro, 1.0},
    {"\u00a3", Dimension::kPound, 1.0},
    {"gbp", Dimension::kPound, 1.0},
};

const Unit* find_unit(std::string_view word) {
  std::string name = lower_case(word);
  for (const bool singular : {false, true}) {
    if (singular && (name.size() < 3 || name.back() != 's')) break;
    if (singular) name.pop_back();
    for (const Unit& unit : kUnits) {
      if (name == unit.name) return &unit;
    }
  }
  return nullptr;
}

void skip_spaces(std::string_view text, size_t& at) {
  while (at < text.size() && (std::isspace(static_cast<unsigned char>(text[at])) != 0)) ++at;
}

/// Digits, with commas before each group of three: "1,234,567". Moves `at` behind them.
std::string read_digits(std::string_view text, size_t& at) {
  std::string digits;
  while (at < text.size() && is_digit(text[at])) digits += text[at++];
  const auto is_group = [&](size_t i) {
    return i + 3 < text.size() && text[i] == ',' && is_digit(text[i + 1]) && is_digit(text[i + 2]) &&
           is_digit(text[i + 3]) && (i + 4 == text.size() || !is_digit(text[i + 4]));
  };
  if (digits.empty() || digits.size() > 3) return digits;
  while (is_group(at)) {
    digits += text.substr(at + 1, 3);
    at += 4;
  }
  return digits;
}

/// An unsigned decimal, with an exponent. Moves `at` behind it.
std::optional<double> read_decimal(std::string_view text, size_t& at) {
  size_t end = at;
  std::string number = read_digits(text, end);
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
    number += text[end++];
    while (end < text.size() && is_digit(text[end])) number += text[end++];
  }
  if (number.empty()) return std::nullopt;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    if (digits < text.size() && is_digit(text[digits])) {
      number += 'e';
      if (text[end + 1] == '-') number += '-';
      for (end = digits; end < text.size() && is_digit(text[end]); ++end) number += text[end];
    }
  }
  double value = 0.0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  if (result.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  at = end;
  return value;
}

/// A decimal, a fraction "3/4" or a mixed number "2 1/2".
std::optional<double> read_number(std::string_view text, size_t& at) {
  const auto whole = read_decimal(text, at);
  if (!whole) return std::nullopt;
  size_t end = at;
  if (end < text.size() && text[end] == '/') {
    const auto divisor = read_decimal(text, ++end);
    if (!divisor || *divisor == 0.0) return whole;
    at = end;
    return *whole / *divisor;
  }
  skip_spaces(text, end);
  const auto numerator = end > at ? read_decimal(text, end) : std::nullopt;
  if (!numerator || end >= text.size() || text[end] != '/') return whole;
  const auto divisor = read_decimal(text, ++end);
  if (!divisor || *divisor == 0.0) return whole;
  at = end;
  return *whole + *numerator / *divisor;
}

/// Takes `sign` at `at`.
bool take(std::string_view text, size_t& at, std::string_view sign) {
  if (!text.substr(at).starts_with(sign)) return false;
  at += sign.size();
  return true;
}

/// A minus, ASCII's or the mathematical one.
bool take_minus(std::string_view text, size_t& at) { return take(text, at, "-") || take(text, at, "\u2212"); }

void set_unit(Quantity& quantity, const Unit& unit) {
  quantity.dimension = unit.dimension;
  quantity.unit = unit.size;
}

/// The percent sign, unit or first word behind a number.
void read_unit(std::string_view text, size_t& at, Quantity& quantity) {
  size_t end = at;
  skip_spaces(text, end);
  take(text, end, "\\");
  if (take(text, end, "%") || take(text, end, "percent")) {
    quantity.is_percent = true;
    at = end;
    return;
  }
  size_t word = end;
  while (word < text.size() && !is_digit(text[word]) &&
         std::isspace(static_cast<unsigned char>(text[word])) == 0)
    ++word;
  std::string_view name = text.substr(end, word - end);
  while (!name.empty() && std::string_view(".,;:!?)*$}").find(name.back()) != std::string_view::npos)
    name.remove_suffix(1);
  if (const Unit* unit = find_unit(name); unit != nullptr && quantity.dimension == Dimension::kNone) {
    set_unit(quantity, *unit);
    at = end + name.size();
  }
}

/// The number at `at` with sign, currency and unit around it.
std::optional<Quantity> quantity_at(std::string_view text, size_t& at) {
  size_t end = at;
  Quantity quantity;
  bool is_negative = take_minus(text, end);
  for (const char* sign : {"$", "\u20ac", "\u00a3"}) {
    if (take(text, end, sign)) set_unit(quantity, *find_unit(sign));
  }
  is_negative = take_minus(text, end) || is_negative;
  const auto value = read_number(text, end);
  if (!value) return std::nullopt;
  quantity.value = is_negative ? -*value : *value;
  read_unit(text, end, quantity);
  at = end;
  return quantity;
}

bool is_word_byte(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// All numbers of a text; digits inside words, such as H2O, are none.
template <typename F>
void for_each_quantity(std::string_view text, F f) {
  for (size_t at = 0; at < text.size();) {
    const bool is_inside_word = at > 0 && (is_word_byte(text[at - 1]) || is_digit(text[at - 1]));
    const auto quantity = is_inside_word ? std::nullopt : quantity_at(text, at);
    if (quantity) {
      f(*quantity);
    } else {
      ++at;
    }
  }
}

}  // namespace

std::optional<Quantity> read_quantity(std::string_view text) {
  // "x = 5": what is behind the last sign counts.
  if (const size_t equals = text.rfind('='); equals != std::string_view::npos) text.remove_prefix(equals + 1);
  std::optional<Quantity> found;
  int count = 0;
  for_each_quantity(text, [&](const Quantity& quantity) {
    found = quantity;
    ++count;
  });
  return count == 1 ? found : std::nullopt;
}

std::optional<Quantity> last_quantity(std::string_view text) {
  std::optional<Quantity> found;
  for_each_quantity(text, [&](const Quantity& quantity) { found = quantity; });
  return found;
}

bool is_close(const Quantity& a, const Quantity& b, double absolute, double relative) {
  const bool have_units = a.dimension != Dimension::kNone && b.dimension != Dimension::kNone;
  if (have_units && a.dimension != b.dimension) return false;
  const auto close = [&](double x, double y) {
    return std::abs(x - y) <= std::max(absolute, relative * std::abs(y));
  };
  const double x = have_units ? a.value * a.unit / b.unit : a.value;
  if (close(x, b.value)) return true;
  if (a.is_percent == b.is_percent) return false;
  return close(a.is_percent ? x / 100.0 : x, b.is_percent ? b.value / 100.0 : b.value);
}

}  // namespace cohort
