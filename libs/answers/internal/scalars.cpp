#include "libs/answers/internal/scalars.h"

#include <algorithm>

#include "libs/answers/internal/ball.h"
#include "libs/answers/internal/exact.h"
#include "libs/answers/internal/kinks.h"
#include "libs/answers/internal/measures.h"
#include "libs/answers/internal/modular.h"

namespace cohort::answers {
namespace {

constexpr int64_t kPrecision = 128;

// Does any node of the expression satisfy `condition`?
template <typename Condition>
bool any_node(const Item& item, Condition condition) {
  if (condition(item.node())) return true;
  for (size_t i = 0; i < item.size(); ++i) {
    if (any_node(item.child(i), condition)) return true;
  }
  return false;
}

bool is_constant_name(const std::string& name) {
  return name == "pi" || name == "e" || name == "i" || name == "infinity" || name == "reals" ||
         name == "empty set";
}

bool has_variables(const Item& item) {
  return any_node(
      item, [](const Node& node) { return node.kind == Kind::kSymbol && !is_constant_name(node.text); });
}

bool has_value(const Item& item) {
  return any_node(item,
                  [](const Node& node) { return node.kind == Kind::kNumber || node.kind == Kind::kSymbol; });
}

bool has_bare_log(const Item& item) {
  return any_node(item, [](const Node& node) {
    return node.kind == Kind::kCall && node.text == "log" && node.children.size() == 1;
  });
}

// Floors, ceilings and powers such as (-1)^n, which belong to integers.
bool has_steps(const Item& item) {
  return any_node(item, [&item](const Node& node) {
    if (node.kind == Kind::kPower)
      return item.tree->is(node.children[0], Kind::kNegate) && has_variables({item.tree, node.children[1]});
    return node.kind == Kind::kCall && (node.text == "floor" || node.text == "ceil");
  });
}

// Are all variables letters that usually stand for integers?
bool has_integers_only(const Item& item) {
  return !any_node(item, [](const Node& node) {
    return node.kind == Kind::kSymbol && !is_constant_name(node.text) && node.text != "n" &&
           node.text != "k" && node.text != "m" && node.text != "N";
  });
}

// Both sides' values at one point, and whether they may be compared there.
struct BallPair {
  Ball difference;
  bool is_defined = false;
  bool left_reals = false;
  int64_t accuracy = 0;  // bits
};

class Comparison {
 public:
  Comparison(const Item& a, const Item& b, const Reading& reading, Work& work)
      : a_(a), b_(b), reading_(reading), work_(work), num_nodes_(count_nodes(a) + count_nodes(b)) {}

  Verdict run() {
    const ExactValue a = evaluate_exactly(*a_.tree, a_.id, reading_, &work_);
    const ExactValue b = evaluate_exactly(*b_.tree, b_.id, reading_, &work_);
    if (work_.left < 0) return undecided("too much work");
    if (a.status == ExactValue::Status::kUndefined || b.status == ExactValue::Status::kUndefined) {
      return unequal("a division by zero");
    }
    if (a.is_ok() && b.is_ok()) {
      return a.value == b.value ? equal("the same rational number") : unequal("different rational numbers");
    }
    if (const std::optional<Verdict> verdict = compare_residues()) return *verdict;
    return has_variables(a_) || has_variables(b_) ? compare_functions() : compare_constants();
  }

 private:
  std::optional<Verdict> compare_residues() {
    constexpr Point kNumPoints = 4;
    for (Point number = 0; number < kNumPoints; ++number) {
      if (!work_.spend(64 * num_nodes_)) return undecided("too much work");
      const Point point = seeded(number, work_.seed);
      const auto a = evaluate_modulo(*a_.tree, a_.id, reading_, point);
      const auto b = a ? evaluate_modulo(*b_.tree, b_.id, reading_, point) : std::nullopt;
      if (!b) return std::nullopt;
      if (*a != *b) return unequal("different modulo a prime");
    }
    return equal("the same modulo primes at random points");
  }

  std::optional<BallPair> evaluate(Point point, int64_t precision) {
    return evaluate(reading_, point, precision);
  }

  std::optional<BallPair> evaluate(const Reading& reading, Point point, int64_t precision) {
    if (!work_.spend(num_nodes_ * precision)) return std::nullopt;
    const BallValue a = evaluate_ball(*a_.tree, a_.id, reading, point, precision);
    const BallValue b = evaluate_ball(*b_.tree, b_.id, reading, point, precision);
    BallPair pair;
    pair.is_defined = a.value.is_finite() && b.value.is_finite();
    pair.left_reals = a.left_reals || b.left_reals || a.value.is_nonreal() != b.value.is_nonreal();
    acb_sub(pair.difference.get(), a.value.get(), b.value.get(), precision);
    pair.accuracy = std::min(acb_rel_accuracy_bits(a.value.get()), acb_rel_accuracy_bits(b.value.get()));
    return pair;
  }

  // Equal to a precision at which the digits as written could not make a smaller difference.
  Verdict confirm(Point point) {
    const std::optional<int64_t> height_a = height_bits(*a_.tree, a_.id, point),
                                 height_b = height_bits(*b_.tree, b_.id, point);
    if (!height_a || !height_b) return undecided("numbers too large or too close to tell apart");
    const int64_t wanted = kPrecision + 2 * (*height_a + *height_b);
    const std::optional<BallPair> pair = evaluate(point, wanted);
    if (!pair) return undecided("too much work");
    if (!pair->difference.contains_zero()) return unequal("different values");
    if (!pair->is_defined || !is_small(*pair, wanted)) return undecided("the values cannot be told apart");
    return equal("the same value to the precision of the digits");
  }

  // Is the ball of the difference tiny, so that its containing 0 means something?
  static bool is_small(const BallPair& pair, int64_t precision) {
    mag_t size;
    mag_init(size);
    acb_get_mag(size, pair.difference.get());
    const bool is_small = mag_cmp_2exp_si(size, -precision / 3) < 0 || pair.accuracy > precision / 3;
    mag_clear(size);
    return is_small;
  }

  Verdict compare_constants() {
    const std::optional<BallPair> pair = evaluate(0, kPrecision);
    if (!pair) return undecided("too much work");
    if (!pair->is_defined) return undecided("a value is undefined or too large");
    if (!pair->difference.contains_zero()) return unequal("different values");
    return confirm(0);
  }

  // At points where both sides are real and defined; where there are none, at those where they are complex.
  Verdict compare_functions() {
    std::vector<Point> real_points, complex_points;
    bool differs_as_complex = false;
    for (Point point : points()) {
      if (real_points.size() >= kEnough && point < kFirstWidePoint) continue;
      const std::optional<BallPair> pair = evaluate(point, kPrecision);
      if (!pair) return undecided("too much work");
      if (!pair->is_defined) continue;
      const bool differs = !pair->difference.contains_zero();
      if (differs && !pair->left_reals) return unequal("different values at a random point");
      differs_as_complex = differs_as_complex || differs;
      if (!is_small(*pair, kPrecision)) continue;
      (pair->left_reals ? complex_points : real_points).push_back(point);
    }
    if (const std::optional<Verdict> verdict = compare_at_kinks()) return *verdict;
    if (real_points.size() >= 2) return confirm(real_points[0]);
    if (differs_as_complex) return unequal("different values at a random point");
    if (complex_points.size() >= 2) return confirm(complex_points[0]);
    return undecided("no points where both sides are defined");
  }

  // Exactly where that can be, since balls say nothing at a jump. A verdict where a difference is found.
  std::optional<Verdict> compare_at_kinks() {
    if (!has_kinks(a_) && !has_kinks(b_)) return std::nullopt;
    for (const Values& values : kink_points(a_, b_, is_whole())) {
      Reading reading = reading_;
      reading.values = &values;
      const ExactValue a = evaluate_exactly(*a_.tree, a_.id, reading, &work_);
      const ExactValue b = evaluate_exactly(*b_.tree, b_.id, reading, &work_);
      if (a.is_ok() && b.is_ok() && !(a.value == b.value)) return unequal("different values beside a kink");
      if ((a.is_ok() && b.is_ok()) || a.status == ExactValue::Status::kUndefined ||
          b.status == ExactValue::Status::kUndefined)
        continue;
      const std::optional<BallPair> pair = evaluate(reading, 0, kPrecision);
      if (!pair) return undecided("too much work");
      if (pair->is_defined && !pair->left_reals && !pair->difference.contains_zero())
        return unequal("different values beside a kink");
    }
    return std::nullopt;
  }

  // Steps whose letters are those of integers.
  bool is_whole() const {
    return (has_steps(a_) || has_steps(b_)) && has_integers_only(a_) && has_integers_only(b_);
  }

  // A few points decide between smooth functions; where signs change or steps stand, many of all sizes are
  // asked, and integers alone where the letters of the steps are those of integers.
  std::vector<Point> points() const {
    constexpr Point kNumPoints = 12;
    std::vector<Point> result;
    const bool are_whole = is_whole();
    for (Point point = 0; !are_whole && point < kNumPoints; ++point) result.push_back(point);
    if (!are_whole && !has_kinks(a_) && !has_kinks(b_)) return result;
    for (Point point = are_whole ? kFirstIntegerPoint : kFirstWidePoint; point < kEndOfPoints; ++point)
      result.push_back(point);
    return result;
  }

  static constexpr size_t kEnough = 6;
  const Item& a_;
  const Item& b_;
  const Reading& reading_;
  Work& work_;
  int64_t num_nodes_;
};

// Pounds of money and pounds, which may be either.
bool are_pounds(const Measure& a, const Measure& b) {
  const Dimension money = {{"pound sterling", 1}};
  return (a.dimension == money && b.is_pound) || (b.dimension == money && a.is_pound);
}

Verdict compare_in(const Item& a, const Item& b, Reading reading, Work& work) {
  Verdict verdict = Comparison(a, b, reading, work).run();
  if (!verdict.is_unequal() || !(has_bare_log(a) || has_bare_log(b))) return verdict;
  reading.has_common_log = true;
  return Comparison(a, b, reading, work).run();
}

bool is_percent(const Item& item) { return item.is(Kind::kDivide) && item.node().text == "percent"; }

// Does one side alone have a percent sign, and the other no unit?
bool is_percent_of_plain(const Item& percent, const Item& plain) {
  return is_percent(percent) && !find_measure(plain).has_unit && !any_node(plain, [](const Node& node) {
           return node.kind == Kind::kDivide && node.text == "percent";
         });
}

// With all signs as they are written.
Verdict compare_as_written(const Item& a, const Item& b, Work& work) {
  if (is_same_tree(a, b)) return equal("written alike");
  const std::optional<int> infinity_a = infinity_sign(a), infinity_b = infinity_sign(b);
  if (infinity_a || infinity_b) {
    return infinity_a == infinity_b ? equal("both infinite") : unequal("one is infinite");
  }
  Measure measure_a = find_measure(a), measure_b = find_measure(b);
  Reading reading;
  const bool is_angle =
      (measure_a.is_degree() && measure_b.is_radian()) || (measure_a.is_radian() && measure_b.is_degree());
  if (is_angle) {
    reading.has_degrees = true;
    reading.converts_units = true;
    return compare_in(a, b, reading, work);
  }
  measure_a.drop_radians();
  measure_b.drop_radians();
  if (measure_a.has_unit && measure_b.has_unit) {
    if (measure_a.dimension != measure_b.dimension && !are_pounds(measure_a, measure_b))
      return unequal("different units");
    reading.converts_units = !are_pounds(measure_a, measure_b);
  } else if (measure_a.has_unit != measure_b.has_unit) {
    const Item& measured = measure_a.has_unit ? a : b;
    if (!find_summed_units(measured).empty())
      return compare_sum_of_units(measured, measure_a.has_unit ? b : a);
    if (has_summed_units(measured)) return unequal("measures in several units and a plain value");
  }
  if ((measure_a.has_unit && !has_value(a)) != (measure_b.has_unit && !has_value(b)))
    return unequal("a unit alone");
  Verdict verdict = compare_in(a, b, reading, work);
  const bool is_one_degree =
      measure_a.has_unit != measure_b.has_unit && (measure_a.is_degree() || measure_b.is_degree());
  if (!verdict.is_unequal() || !is_one_degree) return verdict;
  reading.has_degrees = true;
  return compare_in(a, b, reading, work);
}

}  // namespace

bool has_kinks(const Item& item) {
  if (!has_variables(item)) return false;
  return any_node(item, [&item](const Node& node) {
    if (node.kind == Kind::kCall) {
      return node.text == "abs" || node.text == "floor" || node.text == "ceil" || node.text == "sqrt" ||
             node.text == "root";
    }
    return node.kind == Kind::kPower && !item.tree->is(node.children[1], Kind::kNumber) &&
           !has_variables({item.tree, node.children[1]});
  });
}

int64_t count_nodes(const Item& item) {
  int64_t count = 0;
  any_node(item, [&](const Node&) {
    ++count;
    return false;
  });
  return count;
}

bool contains_symbol(const Item& item, const std::string& name) {
  return any_node(item, [&](const Node& node) { return node.kind == Kind::kSymbol && node.text == name; });
}

bool is_variable(const Item& item) { return item.is(Kind::kSymbol) && !is_constant_name(item.node().text); }

bool is_same_tree(const Item& a, const Item& b) {
  if (a.node().kind != b.node().kind || a.node().text != b.node().text || a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!is_same_tree(a.child(i), b.child(i))) return false;
  }
  return true;
}

std::optional<int> infinity_sign(const Item& item) {
  if (item.is(Kind::kNegate)) {
    const std::optional<int> sign = infinity_sign(item.child(0));
    return sign ? std::optional<int>(-*sign) : std::nullopt;
  }
  return item.is(Kind::kSymbol) && item.node().text == "infinity" ? std::optional<int>(1) : std::nullopt;
}

// A percent sign on one side alone may be left out: 35% is 35 and 0.35, as for graders of GSM8K and MATH.
Verdict compare_scalars(const Item& a, const Item& b, Work& work) {
  Verdict verdict = compare_as_written(a, b, work);
  if (!verdict.is_unequal()) return verdict;
  if (is_percent_of_plain(a, b)) return compare_as_written(a.child(0), b, work);
  if (is_percent_of_plain(b, a)) return compare_as_written(a, b.child(0), work);
  return verdict;
}

std::optional<int> compare_order(const Item& a, const Item& b, Work& work) {
  if (const Verdict verdict = compare_scalars(a, b, work); !verdict.is_unequal()) {
    return verdict.is_equal() ? std::optional<int>(0) : std::nullopt;
  }
  const std::optional<int> infinity_a = infinity_sign(a), infinity_b = infinity_sign(b);
  if (infinity_a || infinity_b) return infinity_a.value_or(0) < infinity_b.value_or(0) ? -1 : 1;
  if (has_variables(a) || has_variables(b)) return std::nullopt;
  if (!work.spend((count_nodes(a) + count_nodes(b)) * 4 * kPrecision)) return std::nullopt;
  const BallValue value_a = evaluate_ball(*a.tree, a.id, {}, 0, 4 * kPrecision);
  const BallValue value_b = evaluate_ball(*b.tree, b.id, {}, 0, 4 * kPrecision);
  if (!acb_is_real(value_a.value.get()) || !acb_is_real(value_b.value.get())) return std::nullopt;
  if (arb_lt(acb_realref(value_a.value.get()), acb_realref(value_b.value.get()))) return -1;
  if (arb_gt(acb_realref(value_a.value.get()), acb_realref(value_b.value.get()))) return 1;
  return std::nullopt;
}

}  // namespace cohort::answers
