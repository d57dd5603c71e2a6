#include "libs/answers/internal/linear.h"

#include "libs/answers/internal/exact.h"

namespace cohort::answers {
namespace {

std::optional<Linear> add(const Item& item, const std::string& variable) {
  Linear sum;
  for (size_t i = 0; i < item.size(); ++i) {
    const std::optional<Linear> term = find_linear(item.child(i), variable);
    if (!term) return std::nullopt;
    sum = {sum.slope + term->slope, sum.offset + term->offset};
  }
  return sum;
}

std::optional<Linear> multiply(const Item& item, const std::string& variable) {
  Linear product{Fraction(0), Fraction(1)};
  for (size_t i = 0; i < item.size(); ++i) {
    const std::optional<Linear> factor = find_linear(item.child(i), variable);
    if (!factor || !(factor->slope * product.slope).is_zero()) return std::nullopt;
    product = {product.slope * factor->offset + product.offset * factor->slope,
               product.offset * factor->offset};
  }
  return product;
}

}  // namespace

std::optional<Linear> find_linear(const Item& item, const std::string& variable) {
  if (item.is(Kind::kSymbol)) {
    if (item.node().text != variable) return std::nullopt;
    return Linear{Fraction(1), Fraction(0)};
  }
  if (const ExactValue value = evaluate_exactly(*item.tree, item.id); value.is_ok()) {
    return Linear{Fraction(0), value.value};
  }
  if (item.is(Kind::kAdd)) return add(item, variable);
  if (item.is(Kind::kMultiply)) return multiply(item, variable);
  const bool is_negation = item.is(Kind::kNegate);
  if (!is_negation && !item.is(Kind::kDivide)) return std::nullopt;
  const std::optional<Linear> form = find_linear(item.child(0), variable);
  const ExactValue divisor = is_negation ? ExactValue{ExactValue::Status::kOk, Fraction(-1)}
                                         : evaluate_exactly(*item.tree, item.child(1).id);
  if (!form || !divisor.is_ok() || divisor.value.is_zero()) return std::nullopt;
  return Linear{form->slope / divisor.value, form->offset / divisor.value};
}

}  // namespace cohort::answers
