// The filters that make numbers, and `default`.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "libs/jinja/internal/filters.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// The text without space around and single underscores between digits; nothing for misplaced underscores.
std::optional<std::string> digits_of(std::string_view text) {
  std::string digits;
  text = strip(text, Sides::kBoth);
  const auto is_digit_at = [&](size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || !is_digit_at(i - 1) || !is_digit_at(i + 1)) {
      return std::nullopt;
    }
  }
  return digits;
}

/// int(text, base) of Python; nothing where it raises a ValueError.
std::optional<BigInteger> parse_integer(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  const auto digits = digits_of(text);
  if (!digits) return std::nullopt;
  std::string_view rest = *digits;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  const char marker = rest.size() > 2 && rest[0] == '0' ? static_cast<char>(rest[1] | 0x20) : '\0';
  const int marked = marker == 'x' ? 16 : marker == 'o' ? 8 : marker == 'b' ? 2 : 0;
  if (marked != 0 && (base == 0 || base == marked)) {
    rest.remove_prefix(2);
    base = marked;
  }
  if (rest.empty() || rest[0] == '-' || rest[0] == '+') return std::nullopt;
  constexpr size_t kMaxDigits = 4300;  // Python's own limit
  if (rest.size() > kMaxDigits) return std::nullopt;
  const auto number = BigInteger::parse(rest, base == 0 ? 10 : static_cast<int>(base));
  return number && is_negative ? -*number : number;
}

/// float(value) of Python; nothing where it raises.
std::optional<double> parse_float(const Value& value) {
  if (const auto number = value.number()) return number;
  const Text* text = value.get<Text>();
  const auto digits = text == nullptr ? std::nullopt : digits_of(text->utf8);
  if (!digits || digits->empty() || digits->find_first_of("xXpP(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(digits->c_str(), &end);
  if (end != digits->c_str() + digits->size()) return std::nullopt;
  return number;
}

Value to_int(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("int", arguments, {{"default", true}, {"base", true}});
  require_defined(value);
  if (const auto whole = value.big_integer()) return make_integer(*whole);
  const int64_t base = a[1].is_missing() ? 10 : integer_argument(a[1], "int");
  if (const Text* text = value.get<Text>()) {
    runtime.look_through(static_cast<int64_t>(text->utf8.size()));
    if (const auto whole = parse_integer(text->utf8, base)) return make_integer(*whole);
  }
  const auto real = parse_float(value);
  if (real && std::isfinite(*real)) return make_integer(BigInteger::truncated(*real));
  return a[0].is_missing() ? Value(int64_t{0}) : a[0];
}

Value to_float(Runtime&, const Value& value, const Arguments& arguments) {
  const auto a = bind("float", arguments, {{"default", true}});
  require_defined(value);
  if (const auto number = parse_float(value)) return *number;
  return a[0].is_missing() ? Value(0.0) : a[0];
}

Value absolute(Runtime&, const Value& value, const Arguments& arguments) {
  bind("abs", arguments, {});
  require_defined(value);
  if (const auto whole = value.big_integer()) return whole->is_negative() ? negative(value) : positive(value);
  if (const auto real = value.number()) return std::fabs(*real);
  throw_type_error("bad operand type for abs(): '" + type_name(value) + "'");
}

/// round() of Python: to the nearest decimal, from the exact value.
double round_to(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 400) return number;
  if (precision < -400) return 0.0 * number;
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(number / unit) * unit;
  }
  char digits[800];
  std::snprintf(digits, sizeof digits, "%.*f", static_cast<int>(precision), number);
  return std::strtod(digits, nullptr);
}

Value round_filter(Runtime&, const Value& value, const Arguments& arguments) {
  const auto a = bind("round", arguments, {{"precision", true}, {"method", true}});
  const int64_t precision = a[0].is_missing() ? 0 : integer_argument(a[0], "round");
  const std::string method = a[1].is_missing() ? "common" : text_argument(a[1], "round");
  require_defined(value);
  const auto number = value.number();
  if (method != "common" && method != "ceil" && method != "floor")
    throw TemplateError("method must be common, ceil or floor");
  if (!number) throw_type_error("round: a number is required, not " + type_name(value));
  if (method == "common") {
    if (value.is_float()) return round_to(*number, precision);
    if (precision >= 0) return make_integer(*value.big_integer());
    return make_integer(BigInteger::truncated(round_to(*number, precision)));
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  return (method == "ceil" ? std::ceil(*number * unit) : std::floor(*number * unit)) / unit;
}

Value default_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("default", arguments, {{"default_value", true}, {"boolean", true}});
  const bool any_false = !a[1].is_missing() && truth(a[1]);
  if (!value.is_undefined() && !(any_false && !truth(value))) return value;
  return a[0].is_missing() ? runtime.text("") : a[0];
}

constexpr FilterEntry kFilters[] = {{"abs", absolute},   {"d", default_filter}, {"default", default_filter},
                                    {"float", to_float}, {"int", to_int},       {"round", round_filter}};

}  // namespace

Filter find_number_filter(std::string_view name) { return find_in(kFilters, name); }

}  // namespace cohort::jinja
