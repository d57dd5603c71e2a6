#include "libs/answers/internal/ball.h"

#include <cmath>

#include "libs/answers/internal/ball_functions.h"
#include "libs/answers/internal/exact.h"
#include "libs/answers/internal/units.h"
#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort::answers {
namespace {

constexpr uint64_t kSeed = 0x62616c6c;

// FLINT keeps constants such as pi per thread; they go when the thread ends.
struct Caches {
  ~Caches() { flint_cleanup(); }
};

// A point of many sizes and both signs, in the last third an integer.
Fraction draw_wide(const std::string& name, Point point) {
  constexpr int64_t kSizes[] = {4, 10, 30, 100, 300, 1000, 10'000, 1'000'000};
  const uint64_t bits = random_bits(kSeed, {fnv1a(name), point});
  const int64_t size = kSizes[point % 8];
  const int64_t sign = (bits >> 60) % 2 == 1 ? -1 : 1;
  if (point >= kFirstIntegerPoint) return Fraction(sign * static_cast<int64_t>(bits % (size + 1)));
  return Fraction(sign * (static_cast<int64_t>(bits % 1000) + 13)) * Fraction(size) / Fraction(1024);
}

// The first points are positive, so that roots and logarithms are real; the others are of mixed signs and
// sizes.
Fraction draw(const std::string& name, Point point) {
  if (point >= kFirstWidePoint) return draw_wide(name, point);
  constexpr int64_t kScales[] = {3, 1, 12, 1, 3, 100};  // of |x|, the second below 1
  const uint64_t bits = random_bits(kSeed, {fnv1a(name), point});
  const int64_t numerator = static_cast<int64_t>(bits % 1000) + 13;
  const bool is_negative = point >= 3 && (bits >> 32) % 2 == 1;
  return Fraction(is_negative ? -numerator : numerator) * Fraction(kScales[point % 6]) / Fraction(1024);
}

class Evaluator {
 public:
  Evaluator(const Tree& tree, const Reading& reading, Point point, int64_t precision)
      : tree_(tree), reading_(reading), point_(point), precision_(precision) {}

  Ball evaluate(NodeId id) {
    const Node& node = tree_[id];
    switch (node.kind) {
      case Kind::kNumber: {
        const std::optional<Fraction> value = read_decimal(node.text);
        return value ? from_fraction(*value) : no_value();
      }
      case Kind::kSymbol:
        return symbol(node.text);
      case Kind::kUnit:
        return unit(node.text);
      case Kind::kAdd:
        return fold(node, acb_add);
      case Kind::kMultiply:
        return fold(node, acb_mul);
      case Kind::kDivide:
        return fold(node, acb_div);
      case Kind::kNegate: {
        Ball result = evaluate(node.children[0]);
        acb_neg(result.get(), result.get());
        return result;
      }
      case Kind::kPower:
        return power(node);
      case Kind::kCall:
        return call(node);
      default:
        return no_value();
    }
  }

  bool left_reals() const { return left_reals_; }

 private:
  static Ball no_value() {
    Ball ball;
    acb_indeterminate(ball.get());
    return ball;
  }

  Ball from_fraction(const Fraction& value) const {
    Ball ball;
    acb_set_fmpq(ball.get(), value.get(), precision_);
    return ball;
  }

  Ball symbol(const std::string& name) const {
    Ball ball;
    if (name == "pi") {
      acb_const_pi(ball.get(), precision_);
    } else if (name == "e") {
      acb_set_si(ball.get(), 1);
      acb_exp(ball.get(), ball.get(), precision_);
    } else if (name == "i") {
      acb_onei(ball.get());
    } else if (name == "infinity" || name == "reals" || name == "empty set") {
      return no_value();
    } else {
      const bool is_given = reading_.values && reading_.values->count(name) > 0;
      return from_fraction(is_given ? reading_.values->at(name) : draw(name, point_));
    }
    return ball;
  }

  Ball unit(const std::string& name) const {
    if (name == "degree" && (is_in_function_ || reading_.has_degrees)) {
      Ball ball = symbol("pi");
      acb_div_si(ball.get(), ball.get(), 180, precision_);
      return ball;
    }
    return from_fraction(reading_.converts_units ? find_unit(name).factor : Fraction(1));
  }

  template <typename Operation>
  Ball fold(const Node& node, Operation operation) {
    Ball result = evaluate(node.children[0]);
    for (size_t i = 1; i < node.children.size(); ++i) {
      const Ball next = evaluate(node.children[i]);
      operation(result.get(), result.get(), next.get(), precision_);
    }
    return result;
  }

  // Notes where a real operation gave what is not real.
  Ball watched(Ball result, bool is_real) {
    left_reals_ = left_reals_ || (is_real && result.is_nonreal());
    return result;
  }

  Ball power(const Node& node) {
    const Ball exponent = evaluate(node.children[1]);
    if (!is_moderate(exponent)) return no_value();
    Ball result;
    if (tree_.is(node.children[0], Kind::kSymbol, "e")) {
      acb_exp(result.get(), exponent.get(), precision_);
      return result;
    }
    Ball base = evaluate(node.children[0]);
    if (acb_is_real(base.get()) && arb_is_negative(acb_realref(base.get()))) {
      const int sign = sign_of_odd_root(node.children[1]);
      if (sign != 0) {
        acb_neg(base.get(), base.get());
        acb_pow(result.get(), base.get(), exponent.get(), precision_);
        if (sign < 0) acb_neg(result.get(), result.get());
        return result;
      }
    }
    if (acb_is_zero(base.get()) && acb_is_zero(exponent.get())) return no_value();
    acb_pow(result.get(), base.get(), exponent.get(), precision_);
    return watched(std::move(result), acb_is_real(base.get()) && acb_is_real(exponent.get()));
  }

  // The sign that (-x)^(p/q) has with an odd q above 1; 0 for other exponents, where it is complex or plain.
  int sign_of_odd_root(NodeId exponent) const {
    const ExactValue value = evaluate_exactly(tree_, exponent);
    if (!value.is_ok() || value.value.is_integer() || !fmpz_is_odd(fmpq_denref(value.value.get()))) return 0;
    return fmpz_is_odd(fmpq_numref(value.value.get())) ? -1 : 1;
  }

  Ball call(const Node& node) {
    const bool was_in_function = std::exchange(is_in_function_, true);
    std::vector<Ball> arguments;
    arguments.reserve(node.children.size());
    for (NodeId child : node.children) arguments.push_back(evaluate(child));
    is_in_function_ = was_in_function;
    bool is_real = true;
    for (const Ball& argument : arguments) is_real = is_real && acb_is_real(argument.get());
    Ball result = no_value();
    if (!apply_function(node.text, arguments, reading_.has_common_log, precision_, result)) return no_value();
    return watched(std::move(result), is_real);
  }

  const Tree& tree_;
  const Reading& reading_;
  Point point_;
  int64_t precision_;
  bool is_in_function_ = false;
  bool left_reals_ = false;
};

double upper_bound(arb_srcptr value) {
  mag_t bound;
  mag_init(bound);
  arb_get_mag(bound, value);
  const double size = mag_get_d(bound);
  mag_clear(bound);
  return size;
}

// A bound of |value|, with the variables at `point`, in each direction.
struct Size {
  double real, imaginary;
  double all() const { return std::max(1.0, real + imaginary); }
};

Size size_of(const Tree& tree, NodeId id, Point point) {
  const Reading reading;
  const Ball value = Evaluator(tree, reading, point, 64).evaluate(id);
  if (!value.is_finite()) return {HUGE_VAL, HUGE_VAL};
  return {upper_bound(acb_realref(value.get())), upper_bound(acb_imagref(value.get()))};
}

// How fast a function comes near to another value, or grows, as an exponential: tanh along the real line, tan
// along the imaginary one.
double exponent_of_call(const Tree& tree, const Node& node, Point point) {
  constexpr double kBitsPerUnit = 3.0;  // of e^2, the faster of both
  const std::string& name = node.text;
  const bool is_hyperbolic = name == "sinh" || name == "cosh" || name == "tanh";
  const bool is_circular =
      name == "sin" || name == "cos" || name == "tan" || name == "cot" || name == "sec" || name == "csc";
  if (!is_hyperbolic && !is_circular) return 0.0;
  const Size size = size_of(tree, node.children[0], point);
  return kBitsPerUnit * (is_hyperbolic ? size.real : size.imaginary);
}

double height(const Tree& tree, NodeId id, Point point) {
  const Node& node = tree[id];
  if (node.kind == Kind::kNumber) return 4.0 * static_cast<double>(node.text.size());
  if (node.kind == Kind::kSymbol) return node.text == "e" || node.text == "pi" ? 2.0 : 12.0;
  if (node.kind == Kind::kPower) {
    return height(tree, node.children[0], point) * size_of(tree, node.children[1], point).all() +
           height(tree, node.children[1], point);
  }
  double sum = 1.0;
  for (NodeId child : node.children) sum += height(tree, child, point);
  if (node.kind != Kind::kCall) return sum;
  const bool is_factorial = node.text == "factorial" || node.text == "binomial";
  return sum + (is_factorial ? 8.0 * size_of(tree, node.children[0], point).all()
                             : exponent_of_call(tree, node, point));
}

}  // namespace

BallValue evaluate_ball(const Tree& tree, NodeId id, const Reading& reading, Point point, int64_t precision) {
  thread_local Caches caches;
  Evaluator evaluator(tree, reading, point, precision);
  Ball value = evaluator.evaluate(id);
  return {std::move(value), evaluator.left_reals()};
}

std::optional<int64_t> height_bits(const Tree& tree, NodeId id, Point point) {
  constexpr double kMaxHeight = 8192;
  const double bits = height(tree, id, point);
  if (!(bits <= kMaxHeight)) return std::nullopt;
  return static_cast<int64_t>(bits);
}

}  // namespace cohort::answers
