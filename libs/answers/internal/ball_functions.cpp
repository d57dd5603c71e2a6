#include "libs/answers/internal/ball_functions.h"

#include <unordered_map>

namespace cohort::answers {
namespace {

using Function = void (*)(acb_ptr result, acb_srcptr x, slong precision);

void reciprocal_tangent(acb_ptr result, acb_srcptr x, slong precision) {
  acb_inv(result, x, precision);
  acb_atan(result, result, precision);
}

void absolute(acb_ptr result, acb_srcptr x, slong precision) {
  arb_t size;
  arb_init(size);
  acb_abs(size, x, precision);
  acb_set_arb(result, size);
  arb_clear(size);
}

void round_with(void (*rounding)(arb_t, const arb_t, slong), acb_ptr result, acb_srcptr x, slong precision) {
  if (!acb_is_real(x)) return acb_indeterminate(result);
  rounding(acb_realref(result), acb_realref(x), precision);
  arb_zero(acb_imagref(result));
}

void round_down(acb_ptr result, acb_srcptr x, slong precision) {
  round_with(arb_floor, result, x, precision);
}
void round_up(acb_ptr result, acb_srcptr x, slong precision) { round_with(arb_ceil, result, x, precision); }

// gamma(x + 1).
void factorial(acb_ptr result, acb_srcptr x, slong precision) {
  acb_add_si(result, x, 1, precision);
  acb_gamma(result, result, precision);
}

Function find_function(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> functions = {
      {"sin", acb_sin},         {"cos", acb_cos},
      {"tan", acb_tan},         {"cot", acb_cot},
      {"sec", acb_sec},         {"csc", acb_csc},
      {"arcsin", acb_asin},     {"arccos", acb_acos},
      {"arctan", acb_atan},     {"sinh", acb_sinh},
      {"cosh", acb_cosh},       {"tanh", acb_tanh},
      {"arcsinh", acb_asinh},   {"arccosh", acb_acosh},
      {"arctanh", acb_atanh},   {"ln", acb_log},
      {"sqrt", acb_sqrt},       {"abs", absolute},
      {"floor", round_down},    {"ceil", round_up},
      {"factorial", factorial}, {"arccot", reciprocal_tangent}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

bool is_below_power_of_two(const Ball& value, slong exponent) {
  mag_t size;
  mag_init(size);
  acb_get_mag(size, value.get());
  const bool is_below = mag_cmp_2exp_si(size, exponent) < 0;
  mag_clear(size);
  return is_below;
}

// The n-th root; of a negative number the real one where n is odd.
void root(acb_ptr result, const Ball& x, const Ball& n, slong precision) {
  Ball inverse;
  acb_inv(inverse.get(), n.get(), precision);
  fmpz_t degree;
  fmpz_init(degree);
  const bool is_odd =
      acb_is_real(n.get()) && arb_get_unique_fmpz(degree, acb_realref(n.get())) && fmpz_is_odd(degree);
  fmpz_clear(degree);
  const bool is_negative = acb_is_real(x.get()) && arb_is_negative(acb_realref(x.get()));
  if (!is_odd || !is_negative) return acb_pow(result, x.get(), inverse.get(), precision);
  acb_neg(result, x.get());
  acb_pow(result, result, inverse.get(), precision);
  acb_neg(result, result);
}

// log of x to `base`, or to the base that has none written.
void logarithm(acb_ptr result, const std::vector<Ball>& arguments, bool is_common, slong precision) {
  acb_log(result, arguments[0].get(), precision);
  if (arguments.size() == 1 && !is_common) return;
  Ball base;
  if (arguments.size() == 2) {
    base = arguments[1];
  } else {
    acb_set_si(base.get(), 10);
  }
  acb_log(base.get(), base.get(), precision);
  acb_div(result, result, base.get(), precision);
}

// n! / (k! (n - k)!).
void binomial(acb_ptr result, const Ball& n, const Ball& k, slong precision) {
  Ball rest, denominator;
  acb_sub(rest.get(), n.get(), k.get(), precision);
  factorial(result, n.get(), precision);
  factorial(denominator.get(), k.get(), precision);
  acb_div(result, result, denominator.get(), precision);
  factorial(denominator.get(), rest.get(), precision);
  acb_div(result, result, denominator.get(), precision);
}

}  // namespace

bool is_moderate(const Ball& value) { return is_below_power_of_two(value, 64); }

bool apply_function(std::string_view name, const std::vector<Ball>& arguments, bool has_common_log,
                    int64_t precision, Ball& result) {
  constexpr slong kMaxFactorialBits = 40;
  constexpr slong kMaxFactorialPrecision = 2048;  // beyond, gamma tabulates for seconds
  const bool is_factorial = name == "factorial" || name == "binomial";
  if (is_factorial && precision > kMaxFactorialPrecision) return false;
  for (const Ball& argument : arguments) {
    if (is_factorial && !is_below_power_of_two(argument, kMaxFactorialBits)) return false;
    if (name != "ln" && name != "log" && name != "sqrt" && name != "abs" && !is_moderate(argument))
      return false;
  }
  if (name == "log") {
    logarithm(result.get(), arguments, has_common_log, precision);
  } else if (name == "root") {
    root(result.get(), arguments[0], arguments[1], precision);
  } else if (name == "binomial") {
    binomial(result.get(), arguments[0], arguments[1], precision);
  } else if (const Function function = find_function(name)) {
    function(result.get(), arguments[0].get(), precision);
  } else {
    return false;
  }
  return true;
}

}  // namespace cohort::answers
