#include <algorithm>
#include <cmath>
#include <numbers>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/ball.h"
#include "libs/answers/internal/exact.h"
#include "libs/answers/internal/measures.h"
#include "libs/answers/internal/parser.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

constexpr int64_t kPrecision = 128;

std::optional<double> evaluate(const Item& item, const Reading& reading) {
  const BallValue ball = evaluate_ball(*item.tree, item.id, reading, 0, kPrecision);
  if (!ball.value.is_finite() || !acb_is_real(ball.value.get())) return std::nullopt;
  const double value = arf_get_d(arb_midref(acb_realref(ball.value.get())), ARF_RND_NEAR);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// The value of an item that is an integer, exactly.
std::optional<Fraction> evaluate_integer(const Item& item) {
  const ExactValue exact = evaluate_exactly(*item.tree, item.id);
  return exact.is_ok() && exact.value.is_integer() ? std::optional(exact.value) : std::nullopt;
}

// |a - b| of integers, to the precision of a double.
double distance(const Fraction& a, const Fraction& b) {
  constexpr flint_bitcnt_t kMaxBits = 1000;  // a double holds less than 1024
  const Fraction difference = a - b;
  const fmpz* integer = fmpq_numref(difference.get());
  return fmpz_bits(integer) > kMaxBits ? INFINITY : std::abs(fmpz_get_d(integer));
}

bool are_values_close(const Quantity& a, const Quantity& b, const Tolerance& tolerance) {
  const bool are_integers = a.integer && b.integer;
  const double relative = are_integers ? tolerance.integer_relative : tolerance.relative;
  const double apart = are_integers ? distance(*a.integer, *b.integer) : std::abs(a.value - b.value);
  return apart <= std::max(tolerance.absolute, relative * std::abs(b.value));
}

// Kilometers and kilometers, but not kilometers and meters.
bool have_same_scale(const Quantity& a, const Quantity& b) {
  constexpr double kRounding = 1e-14;
  const double x = a.base_value * b.value, y = b.base_value * a.value;
  return std::abs(x - y) <= kRounding * std::abs(y);
}

std::string describe_value(const Quantity& quantity) {
  constexpr flint_bitcnt_t kMaxBits = 256;
  if (!quantity.integer || fmpz_bits(fmpq_numref(quantity.integer->get())) > kMaxBits)
    return str(quantity.value);
  char* digits = fmpz_get_str(nullptr, 10, fmpq_numref(quantity.integer->get()));
  std::string text = digits;
  flint_free(digits);
  return text;
}

// Is it made of numbers alone?
bool is_constant(const Item& item) {
  const std::string& text = item.node().text;
  if (item.is(Kind::kSymbol)) return text == "pi" || text == "e";
  if (item.is(Kind::kCall) && is_unknown_function(text)) return false;
  for (size_t i = 0; i < item.size(); ++i) {
    if (!is_constant(item.child(i))) return false;
  }
  return true;
}

// x = 5 and 9 * 2 = 18 say what stands behind the last sign.
Item last_side(Item item) {
  const bool is_equation =
      item.is(Kind::kRelation) && item.node().text.find_first_not_of('=') == std::string::npos;
  return is_equation ? item.child(item.size() - 1) : item;
}

// That of a unit of the table; what is counted says nothing.
Dimension known_dimension(const Item& item) {
  Dimension dimension = find_measure(item).dimension;
  const bool is_known = std::all_of(dimension.begin(), dimension.end(),
                                    [](const auto& entry) { return is_unit_name(entry.first); });
  return is_known ? dimension : Dimension();
}

}  // namespace

std::optional<Quantity> read_quantity(std::string_view text) {
  ParseFailure failure;
  const std::optional<Expression> expression = parse(text, failure);
  if (!expression) return std::nullopt;
  Item item = last_side({&expression->tree, expression->root});
  Quantity quantity;
  quantity.is_percent = item.is(Kind::kDivide) && item.node().text == "percent";
  if (quantity.is_percent) item = item.child(0);
  if (!is_constant(item) || item.node().text.starts_with("time") || item.node().text == "date")
    return std::nullopt;
  const std::optional<double> value = evaluate(item, {}), base = evaluate(item, {.converts_units = true});
  if (!value || !base) return std::nullopt;
  quantity.value = *value;
  quantity.integer = evaluate_integer(item);
  if (!find_summed_units(item).empty()) {  // 2 hours 30 minutes are 2.5 in the first unit
    const std::optional<double> plain = evaluate(item.child(0), {});
    const std::optional<double> first = evaluate(item.child(0), {.converts_units = true});
    if (!plain || !first || *first == 0.0) return std::nullopt;
    quantity.value = *base * *plain / *first;
    quantity.integer.reset();
  }
  quantity.base_value = *base;
  quantity.dimension = known_dimension(item);
  if (quantity.dimension == Dimension{{"degree", 1}}) {
    quantity.base_value *= std::numbers::pi / 180.0;
    quantity.dimension = {{"radian", 1}};
  }
  return quantity;
}

bool is_close(const Quantity& a, const Quantity& b, const Tolerance& tolerance) {
  const bool have_units = !a.dimension.empty() && !b.dimension.empty();
  if (have_units && a.dimension != b.dimension) return false;
  const auto close = [&](double x, double y) {
    return std::abs(x - y) <= std::max(tolerance.absolute, tolerance.relative * std::abs(y));
  };
  if (have_units && !have_same_scale(a, b)) {
    // A tolerance is in the unit of the reference.
    const double unit = b.value == 0.0 ? 1.0 : b.base_value / b.value;
    return close(a.base_value / unit, b.value);
  }
  if (are_values_close(a, b, tolerance)) return true;
  if (a.is_percent == b.is_percent) return false;
  return close(a.is_percent ? a.value / 100.0 : a.value, b.is_percent ? b.value / 100.0 : b.value);
}

bool rounds_to(std::string_view answer, std::string_view gold) {
  constexpr double kSlack = 1e-9;  // of the last place: ties round either way
  const size_t point = gold.find('.');
  if (point == std::string_view::npos || gold.find('.', point + 1) != std::string_view::npos) return false;
  size_t end = point + 1;
  while (end < gold.size() && is_digit(gold[end])) ++end;
  const auto num_decimals = static_cast<double>(end - point - 1);
  const std::optional<Quantity> right = read_quantity(gold), other = read_quantity(answer);
  if (num_decimals < 1.0 || !right || !other) return false;
  return is_close(*other, *right, {.absolute = std::pow(10.0, -num_decimals) * (0.5 + kSlack)});
}

std::string describe(const std::optional<Quantity>& quantity) {
  if (!quantity) return "no number, or several";
  std::string text = str(describe_value(*quantity), quantity->is_percent ? " %" : "");
  if (quantity->dimension.empty()) return text;
  text += str(" (", quantity->base_value);
  for (const auto& [base, exponent] : quantity->dimension) {
    text += str(" ", base);
    if (exponent != 1) text += str("^", exponent);
  }
  return text + ")";
}

}  // namespace cohort::answers
