// Equations: is one a constant multiple of the other?
#include <algorithm>

#include "libs/answers/internal/ball.h"
#include "libs/answers/internal/modular.h"
#include "libs/answers/internal/scalars.h"

namespace cohort::answers {
namespace {

constexpr int64_t kPrecision = 256;

std::optional<uint64_t> residue(const Sides& sides, Point point) {
  const auto left = evaluate_modulo(*sides.left.tree, sides.left.id, {}, point);
  const auto right = left ? evaluate_modulo(*sides.right.tree, sides.right.id, {}, point) : std::nullopt;
  if (!right) return std::nullopt;
  return subtract_modulo(*left, *right, point);
}

// left - right; not finite where a side has no real value.
Ball ball(const Sides& sides, Point point, int64_t precision = kPrecision) {
  const BallValue left = evaluate_ball(*sides.left.tree, sides.left.id, {}, point, precision);
  const BallValue right = evaluate_ball(*sides.right.tree, sides.right.id, {}, point, precision);
  Ball difference;
  if (left.left_reals || right.left_reals) {
    acb_indeterminate(difference.get());
  } else {
    acb_sub(difference.get(), left.value.get(), right.value.get(), precision);
  }
  return difference;
}

// a * d - b * c.
Ball cross(const Ball& a, const Ball& b, const Ball& c, const Ball& d, int64_t precision = kPrecision) {
  Ball first, second;
  acb_mul(first.get(), a.get(), d.get(), precision);
  acb_mul(second.get(), b.get(), c.get(), precision);
  acb_sub(first.get(), first.get(), second.get(), precision);
  return first;
}

// Exactly, for equations that are rational in their variables; nothing for others.
std::optional<bool> is_proportional_modulo(const Sides& a, const Sides& b, uint64_t seed) {
  for (Point parity = 0; parity < 2; ++parity) {
    const auto first_a = residue(a, seeded(parity, seed)), first_b = residue(b, seeded(parity, seed));
    if (!first_a || !first_b) return std::nullopt;
    if (*first_a == 0 || *first_b == 0) return false;
    for (Point number = parity + 2; number < 6; number += 2) {
      const Point point = seeded(number, seed);
      const auto next_a = residue(a, point), next_b = residue(b, point);
      if (!next_a || !next_b) return std::nullopt;
      if (multiply_modulo(*first_a, *next_b, point) != multiply_modulo(*next_a, *first_b, point))
        return false;
    }
  }
  return true;
}

// Bits at which the digits as written could not hide a difference; nothing for too many.
std::optional<int64_t> needed_precision(const Sides& a, const Sides& b, Point point) {
  int64_t bits = kPrecision;
  for (const Item& item : {a.left, a.right, b.left, b.right}) {
    const std::optional<int64_t> height = height_bits(*item.tree, item.id, point);
    if (!height) return std::nullopt;
    bits += 2 * *height;
  }
  return bits;
}

// Once more at two points, to the precision of the digits.
Verdict confirm(const Sides& a, const Sides& b, Point first, Point second, int64_t num_nodes, Work& work) {
  const std::optional<int64_t> first_bits = needed_precision(a, b, first),
                               second_bits = needed_precision(a, b, second);
  if (!first_bits || !second_bits) return undecided("numbers too large or too close to tell apart");
  const int64_t precision = std::max(*first_bits, *second_bits);
  if (!work.spend(2 * num_nodes * precision)) return undecided("too much work");
  const Ball difference = cross(ball(a, first, precision), ball(b, first, precision),
                                ball(a, second, precision), ball(b, second, precision), precision);
  if (!difference.contains_zero()) return unequal("no constant multiple of each other");
  mag_t size;
  mag_init(size);
  acb_get_mag(size, difference.get());
  const bool is_small = mag_cmp_2exp_si(size, -precision / 3) < 0;
  mag_clear(size);
  return is_small ? equal("one is a constant multiple of the other")
                  : undecided("equations that cannot be told apart");
}

}  // namespace

Verdict compare_proportional(const Sides& a, const Sides& b, bool& is_positive, Work& work) {
  constexpr Point kNumSmoothPoints = 8;
  const bool are_smooth =
      !has_kinks(a.left) && !has_kinks(a.right) && !has_kinks(b.left) && !has_kinks(b.right);
  const Point num_points = are_smooth ? kNumSmoothPoints : kEndOfPoints;
  const int64_t num_nodes =
      count_nodes(a.left) + count_nodes(a.right) + count_nodes(b.left) + count_nodes(b.right);
  if (!work.spend(num_nodes * kPrecision * static_cast<int64_t>(num_points)))
    return undecided("too much work");
  const std::optional<bool> exact = is_proportional_modulo(a, b, work.seed);
  if (exact && !*exact) return unequal("no constant multiple of each other");
  std::optional<Ball> first_a, first_b;
  int num_compared = 0;
  Point first = 0, last = 0;
  for (Point point = 0; point < num_points; ++point) {
    Ball next_a = ball(a, point), next_b = ball(b, point);
    if (!next_a.is_finite() || !next_b.is_finite()) continue;
    if (!first_a) {
      if (next_a.contains_zero() || next_b.contains_zero()) continue;
      first_a = std::move(next_a);
      first_b = std::move(next_b);
      first = point;
      continue;
    }
    if (!cross(*first_a, *first_b, next_a, next_b).contains_zero())
      return unequal("no constant multiple of each other");
    ++num_compared;
    last = point;
  }
  if (num_compared < 2) return undecided("no points where both equations are defined");
  const Ball& x = *first_a;
  is_positive = arb_is_positive(acb_realref(x.get())) == arb_is_positive(acb_realref(first_b->get()));
  if (exact) return equal("one is a constant multiple of the other");
  return confirm(a, b, first, last, num_nodes, work);
}

}  // namespace cohort::answers
