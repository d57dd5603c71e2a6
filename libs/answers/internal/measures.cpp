#include "libs/answers/internal/measures.h"

#include <algorithm>

#include "libs/answers/internal/exact.h"

namespace cohort::answers {
namespace {

constexpr int64_t kMaxPower = 9, kMaxExponent = 1000;

Measure measure_of(const Item& item);

void drop_zeros(Measure& measure) {
  std::erase_if(measure.dimension, [](const auto& entry) { return entry.second == 0; });
}

// `measure` times `other` to the power; what has too high a power measures nothing.
void multiply(Measure& measure, const Measure& other, int power) {
  if (other.has_unit) measure.is_pound = other.is_pound;
  for (const auto& [base, exponent] : other.dimension) {
    if (std::abs(exponent) > kMaxExponent) continue;
    measure.dimension[base] += exponent * power;
  }
  measure.has_unit = measure.has_unit || other.has_unit;
}

// Of the n-th root of what has this measure.
Measure root_of(const Measure& measure, int n) {
  Measure root = measure;
  root.dimension.clear();
  for (const auto& [base, exponent] : measure.dimension) {
    const bool is_whole = exponent % n == 0;
    root.dimension[is_whole ? base : "root " + std::to_string(n) + " of " + base] =
        is_whole ? exponent / n : exponent;
  }
  return root;
}

// To an exact power; none where the power is unknown or too high.
Measure power_of(const Item& base, const ExactValue& exponent) {
  if (!exponent.is_ok()) return {};
  for (int n = 1; n <= kMaxPower; ++n) {
    const std::optional<int64_t> power = (exponent.value * Fraction(n)).small_integer();
    if (!power) continue;
    if (std::abs(*power) > kMaxPower) return {};
    Measure measure;
    multiply(measure, measure_of(base), static_cast<int>(*power));
    drop_zeros(measure);
    return n == 1 ? measure : root_of(measure, n);
  }
  return {};
}

// The tree as a text, to tell sums apart that only differ in the order of their terms.
std::string written(const Item& item) {
  std::vector<std::string> parts;
  parts.reserve(item.size());
  for (size_t i = 0; i < item.size(); ++i) parts.push_back(written(item.child(i)));
  if (item.is(Kind::kAdd)) std::sort(parts.begin(), parts.end());
  std::string text = std::to_string(static_cast<int>(item.node().kind)) + item.node().text + "(";
  for (const std::string& part : parts) text += part + ",";
  return text + ")";
}

// That of all terms which have one. A sum of measures of several kinds is like nothing but itself.
Measure sum_of(const Item& sum) {
  Measure measure;
  for (size_t i = 0; i < sum.size(); ++i) {
    const Measure term = measure_of(sum.child(i));
    if (!term.has_unit) continue;
    if (measure.has_unit && measure.dimension != term.dimension)
      return {.has_unit = true, .dimension = {{written(sum), 1}}};
    measure = term;
  }
  return measure;
}

Measure call_of(const Item& call) {
  const std::string& name = call.node().text;
  if (name == "abs" || name == "floor" || name == "ceil") return measure_of(call.child(0));
  if (name == "sqrt") return power_of(call.child(0), {ExactValue::Status::kOk, Fraction(1, 2)});
  if (name != "root") return {};
  ExactValue degree = evaluate_exactly(*call.tree, call.child(1).id);
  if (!degree.is_ok() || degree.value.is_zero()) return {};
  degree.value = Fraction(1) / degree.value;
  return power_of(call.child(0), degree);
}

Measure measure_of(const Item& item) {
  Measure measure;
  switch (item.node().kind) {
    case Kind::kUnit:
      measure.is_pound = item.node().text == "pound" || item.node().text == "pounds";
      measure.dimension = find_unit(item.node().text).dimension;
      measure.has_unit = !measure.dimension.empty();
      break;
    case Kind::kMultiply:
      for (size_t i = 0; i < item.size(); ++i) multiply(measure, measure_of(item.child(i)), 1);
      break;
    case Kind::kDivide:
      multiply(measure, measure_of(item.child(0)), 1);
      multiply(measure, measure_of(item.child(1)), -1);
      break;
    case Kind::kPower:
      return power_of(item.child(0), evaluate_exactly(*item.tree, item.child(1).id));
    case Kind::kNegate:
      return measure_of(item.child(0));
    case Kind::kAdd:
    case Kind::kPlusMinus:
      return sum_of(item);
    case Kind::kCall:
      return call_of(item);
    default:
      break;
  }
  drop_zeros(measure);
  return measure;
}

bool is_plain_constant(const Item& item) {
  if (item.is(Kind::kUnit)) return false;
  if (item.is(Kind::kSymbol)) return item.node().text == "pi" || item.node().text == "e";
  for (size_t i = 0; i < item.size(); ++i) {
    if (!is_plain_constant(item.child(i))) return false;
  }
  return true;
}

// 2 m + 3: but an angle in radians needs no unit.
bool is_half_measured(const Item& item) {
  if (!item.is(Kind::kAdd)) return false;
  bool has_unit = false, has_plain = false;
  for (size_t i = 0; i < item.size(); ++i) {
    const Measure term = measure_of(item.child(i));
    has_unit = has_unit || (term.has_unit && !term.is_degree() && !term.is_radian());
    has_plain = has_plain || (!term.has_unit && is_plain_constant(item.child(i)));
  }
  return has_unit && has_plain;
}

// The unit behind a value; empty where none is.
std::string last_unit(const Item& item) {
  if (!item.is(Kind::kMultiply)) return {};
  const Item last = item.child(item.size() - 1);
  return last.is(Kind::kUnit) ? last.node().text : std::string();
}

}  // namespace

std::vector<std::string> find_summed_units(const Item& item) {
  if (!item.is(Kind::kAdd)) return {};
  std::vector<std::string> units;
  bool are_different = false;
  for (size_t i = 0; i < item.size(); ++i) {
    units.push_back(last_unit(item.child(i)));
    if (units.back().empty()) return {};
    are_different = are_different || find_unit(units[i]).factor < find_unit(units[0]).factor ||
                    find_unit(units[0]).factor < find_unit(units[i]).factor ||
                    find_unit(units[0]).dimension != find_unit(units[i]).dimension;
  }
  return are_different ? units : std::vector<std::string>();
}

bool has_summed_units(const Item& item) {
  if (!find_summed_units(item).empty() || is_half_measured(item)) return true;
  for (size_t i = 0; i < item.size(); ++i) {
    if (has_summed_units(item.child(i))) return true;
  }
  return false;
}

Verdict compare_sum_of_units(const Item& sum, const Item& value) {
  const ExactValue total = evaluate_exactly(*sum.tree, sum.id, {.converts_units = true});
  const ExactValue plain = evaluate_exactly(*value.tree, value.id);
  if (!total.is_ok() || !plain.is_ok()) return unequal("measures in several units and another value");
  const std::vector<std::string> units = find_summed_units(sum);
  for (const std::string& unit : units) {
    if (find_unit(unit).dimension != find_unit(units[0]).dimension)
      return unequal("measures of several kinds and a plain value");
  }
  for (const std::string& unit : units) {
    if (plain.value * find_unit(unit).factor == total.value) return equal("the same in one of the units");
  }
  return unequal("different in every unit");
}

Measure find_measure(const Item& item) { return measure_of(item); }

}  // namespace cohort::answers
