#include "cohort/rewards/math/measures.h"

#include "cohort/rewards/math/exact.h"

namespace cohort::math {
namespace {

constexpr int64_t kMaxPower = 9;

void collect(const Item& item, int power, Measure& measure) {
  switch (item.node().kind) {
    case Kind::kUnit:
      measure.is_pound = item.node().text == "pound" || item.node().text == "pounds";
      for (const auto& [base, exponent] : find_unit(item.node().text).dimension) {
        measure.has_unit = true;
        measure.dimension[base] += exponent * power;
      }
      return;
    case Kind::kMultiply:
      for (size_t i = 0; i < item.size(); ++i) collect(item.child(i), power, measure);
      return;
    case Kind::kDivide:
      collect(item.child(0), power, measure);
      return collect(item.child(1), -power, measure);
    case Kind::kPower: {
      const ExactValue exponent = evaluate_exactly(*item.tree, item.child(1).id);
      const std::optional<int64_t> integer = exponent.is_ok() ? exponent.value.small_integer() : std::nullopt;
      if (!integer || std::abs(*integer) > kMaxPower || std::abs(power) > kMaxPower) return;
      return collect(item.child(0), power * static_cast<int>(*integer), measure);
    }
    case Kind::kNegate:
    case Kind::kAdd:
      return collect(item.child(0), power, measure);
    default:
      return;
  }
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
                    find_unit(units[0]).factor < find_unit(units[i]).factor;
  }
  return are_different ? units : std::vector<std::string>();
}

bool has_summed_units(const Item& item) {
  if (!find_summed_units(item).empty()) return true;
  for (size_t i = 0; i < item.size(); ++i) {
    if (has_summed_units(item.child(i))) return true;
  }
  return false;
}

Verdict compare_sum_of_units(const Item& sum, const Item& value) {
  const ExactValue total = evaluate_exactly(*sum.tree, sum.id, {.converts_units = true});
  const ExactValue plain = evaluate_exactly(*value.tree, value.id);
  if (!total.is_ok() || !plain.is_ok()) return unequal("measures in several units and another value");
  for (const std::string& unit : find_summed_units(sum)) {
    if (plain.value * find_unit(unit).factor == total.value) return equal("the same in one of the units");
  }
  return unequal("different in every unit");
}

Measure find_measure(const Item& item) {
  Measure measure;
  collect(item, 1, measure);
  std::erase_if(measure.dimension, [](const auto& entry) { return entry.second == 0; });
  return measure;
}

}  // namespace cohort::math
