#include "cohort/rewards/math/measures.h"

#include "cohort/rewards/math/exact.h"

namespace cohort::math {
namespace {

constexpr int64_t kMaxPower = 9;

void collect(const Item& item, int power, Measure& measure) {
  switch (item.node().kind) {
    case Kind::kUnit:
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

}  // namespace

Measure find_measure(const Item& item) {
  Measure measure;
  collect(item, 1, measure);
  std::erase_if(measure.dimension, [](const auto& entry) { return entry.second == 0; });
  return measure;
}

}  // namespace cohort::math
