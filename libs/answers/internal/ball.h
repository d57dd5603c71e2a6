// Ball arithmetic with FLINT's Arb: every value comes with a bound of its error, so two balls that do not
// meet prove that two expressions differ.
#pragma once

#include <acb.h>

#include <optional>

#include "libs/answers/internal/evaluation.h"
#include "libs/answers/internal/tree.h"

namespace cohort::answers {

/// A complex ball as a value.
class Ball {
 public:
  Ball() { acb_init(value_); }
  Ball(const Ball& other) : Ball() { acb_set(value_, other.value_); }
  Ball(Ball&& other) noexcept : Ball() { acb_swap(value_, other.value_); }
  Ball& operator=(Ball other) noexcept {
    acb_swap(value_, other.value_);
    return *this;
  }
  ~Ball() { acb_clear(value_); }

  acb_ptr get() { return value_; }
  acb_srcptr get() const { return value_; }
  bool is_finite() const { return acb_is_finite(value_); }
  /// Certainly not on the real line.
  bool is_nonreal() const { return !arb_contains_zero(acb_imagref(value_)); }
  bool contains_zero() const { return acb_contains_zero(value_); }

 private:
  acb_t value_;
};

struct BallValue {
  Ball value;  ///< not finite where the expression has no value or a limit was passed
  bool left_reals =
      false;  ///< a real operation, such as a root of a negative number, gave a value that is not real
};

/// The value to about `precision` bits, with the variables at `point`.
BallValue evaluate_ball(const Tree& tree, NodeId id, const Reading& reading, Point point, int64_t precision);

/// Bits by which a value of the expression can plausibly differ from another without being it: the digits as
/// written, times the exponents above them and the depth of exponentials such as tanh. The variables lie at
/// `point`. Nothing beyond 8192.
std::optional<int64_t> height_bits(const Tree& tree, NodeId id, Point point);

}  // namespace cohort::answers
