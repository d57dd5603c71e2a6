#include "libs/answers/internal/exact.h"

#include <cstdlib>

#include "libs/answers/internal/units.h"

namespace cohort::answers {
namespace {

using Status = ExactValue::Status;

constexpr int64_t kMaxBits = 1 << 14;
constexpr int64_t kMaxFactorial = 1000;

ExactValue bounded(Fraction value) {
  if (value.bits() > kMaxBits) return {};
  return {Status::kOk, std::move(value)};
}

ExactValue quotient(const Fraction& a, const Fraction& b) {
  if (b.is_zero()) return {Status::kUndefined, {}};
  return bounded(a / b);
}

// The exact n-th root of a fraction, where it is rational: of a negative one where n is odd.
ExactValue root(const Fraction& value, int64_t n) {
  if (n < 1 || n > kMaxBits) return {};
  if (value.sign() < 0) {
    if (n % 2 == 0) return {};
    ExactValue positive = root(Fraction() - value, n);
    positive.value = Fraction() - positive.value;
    return positive;
  }
  Fraction result;
  const bool is_exact = fmpz_root(fmpq_numref(result.get()), fmpq_numref(value.get()), n) &&
                        fmpz_root(fmpq_denref(result.get()), fmpq_denref(value.get()), n);
  return is_exact ? bounded(std::move(result)) : ExactValue{};
}

ExactValue raise(const Fraction& base, const Fraction& exponent) {
  const std::optional<int64_t> integer = exponent.small_integer();
  if (!integer) {
    if (exponent.is_integer() || fmpz_bits(fmpq_denref(exponent.get())) > 14) return {};
    ExactValue rooted = root(base, fmpz_get_si(fmpq_denref(exponent.get())));
    if (!rooted.is_ok()) return rooted;
    Fraction numerator;
    fmpz_set(fmpq_numref(numerator.get()), fmpq_numref(exponent.get()));
    return raise(rooted.value, numerator);
  }
  if (base.is_zero()) {
    if (*integer == 0) return {};
    return *integer > 0 ? ExactValue{Status::kOk, {}} : ExactValue{Status::kUndefined, {}};
  }
  const int64_t magnitude = std::abs(*integer);
  if (base.bits() > 2 && (magnitude > kMaxBits || magnitude * base.bits() > 2 * kMaxBits)) return {};
  return bounded(power(base, *integer));
}

ExactValue factorial(const Fraction& n) {
  const std::optional<int64_t> integer = n.small_integer();
  if (!integer || *integer < 0 || *integer > kMaxFactorial) return {};
  Fraction result;
  fmpz_fac_ui(fmpq_numref(result.get()), *integer);
  return bounded(std::move(result));
}

// 7!! = 7 * 5 * 3 * 1.
ExactValue double_factorial(const Fraction& n) {
  const std::optional<int64_t> integer = n.small_integer();
  if (!integer || *integer < 0 || *integer > kMaxFactorial) return {};
  Fraction result(1);
  for (int64_t factor = *integer; factor > 1; factor -= 2) result = result * Fraction(factor);
  return bounded(std::move(result));
}

ExactValue binomial(const Fraction& n, const Fraction& k) {
  const std::optional<int64_t> top = n.small_integer(), bottom = k.small_integer();
  if (!top || !bottom || *top < 0 || *bottom < 0 || *top > 10 * kMaxFactorial) return {};
  if (*bottom > *top) return {Status::kOk, {}};
  Fraction result;
  fmpz_bin_uiui(fmpq_numref(result.get()), *top, *bottom);
  return bounded(std::move(result));
}

ExactValue rounded(const Fraction& value, bool is_up) {
  Fraction result;
  const auto divide = is_up ? fmpz_cdiv_q : fmpz_fdiv_q;
  divide(fmpq_numref(result.get()), fmpq_numref(value.get()), fmpq_denref(value.get()));
  return {Status::kOk, std::move(result)};
}

class Evaluator {
 public:
  Evaluator(const Tree& tree, const Reading& reading, Work* work)
      : tree_(tree), reading_(reading), work_(work) {}

  ExactValue evaluate(NodeId id) {
    constexpr int64_t kBitsPerUnit = 8;
    if (work_ && work_->left < 0) return {};
    ExactValue value = compute(id);
    if (work_) work_->spend(1 + value.value.bits() / kBitsPerUnit);
    return value;
  }

 private:
  ExactValue compute(NodeId id) {
    const Node& node = tree_[id];
    switch (node.kind) {
      case Kind::kNumber: {
        std::optional<Fraction> value = read_decimal(node.text);
        return value ? bounded(std::move(*value)) : ExactValue{};
      }
      case Kind::kSymbol:
        return symbol(node.text);
      case Kind::kUnit:
        return unit(node);
      case Kind::kAdd:
        return fold(node, [](const Fraction& a, const Fraction& b) { return bounded(a + b); });
      case Kind::kMultiply:
        return fold(node, [](const Fraction& a, const Fraction& b) { return bounded(a * b); });
      case Kind::kDivide:
        return fold(node, quotient);
      case Kind::kPower:
        return fold(node, raise);
      case Kind::kNegate: {
        ExactValue value = evaluate(node.children[0]);
        value.value = Fraction() - value.value;
        return value;
      }
      case Kind::kCall:
        return call(node);
      default:
        return {};
    }
  }

  ExactValue symbol(const std::string& name) const {
    if (!reading_.values) return {};
    const auto value = reading_.values->find(name);
    return value == reading_.values->end() ? ExactValue{} : bounded(value->second);
  }

  ExactValue unit(const Node& node) const {
    if (node.text == "degree" && reading_.has_degrees) return {};
    return {Status::kOk, reading_.converts_units ? find_unit(node.text).factor : Fraction(1)};
  }

  template <typename Operation>
  ExactValue fold(const Node& node, Operation operation) {
    ExactValue result = evaluate(node.children[0]);
    for (size_t i = 1; i < node.children.size() && result.is_ok(); ++i) {
      const ExactValue next = evaluate(node.children[i]);
      if (!next.is_ok()) return next;
      result = operation(result.value, next.value);
    }
    return result;
  }

  ExactValue call(const Node& node) {
    if (node.text == "binomial") return fold(node, binomial);
    if (node.text == "root") {
      return fold(node, [](const Fraction& value, const Fraction& n) {
        const std::optional<int64_t> degree = n.small_integer();
        return degree ? root(value, *degree) : ExactValue{};
      });
    }
    const bool is_known = node.text == "sqrt" || node.text == "abs" || node.text == "factorial" ||
                          node.text == "double factorial" || node.text == "floor" || node.text == "ceil";
    if (!is_known) return {};
    ExactValue argument = evaluate(node.children[0]);
    if (!argument.is_ok()) return argument;
    if (node.text == "sqrt") return root(argument.value, 2);
    if (node.text == "factorial") return factorial(argument.value);
    if (node.text == "double factorial") return double_factorial(argument.value);
    if (node.text == "floor" || node.text == "ceil") return rounded(argument.value, node.text == "ceil");
    if (argument.value.sign() < 0) argument.value = Fraction() - argument.value;
    return argument;
  }

  const Tree& tree_;
  const Reading& reading_;
  Work* work_;
};

}  // namespace

ExactValue evaluate_exactly(const Tree& tree, NodeId id, const Reading& reading, Work* work) {
  return Evaluator(tree, reading, work).evaluate(id);
}

}  // namespace cohort::answers
