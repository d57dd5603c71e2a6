#include "cohort/env/calculator_tool.h"

#include "cohort/rewards/expression.h"

namespace cohort {
namespace {

std::string digits_of(__int128 value) {
  std::string digits;
  // A digit at a time, whose sign is that of the value: the smallest value has no positive one.
  for (__int128 left = value; left != 0; left /= 10) {
    const int digit = static_cast<int>(left % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  if (digits.empty()) return "0";
  return value < 0 ? "-" + digits : digits;
}

class Calculator : public Tool {
 public:
  Calculator()
      : Tool("calculator", "Computes an arithmetic expression and returns its value.",
             Json::parse(R"({"type": "object", "required": ["expression"], "additionalProperties": false,
               "properties": {"expression": {"type": "string",
                 "description": "Integers with + - * / and parentheses, such as (12 + 7) * 3."}}})")) {}

  ToolResult call(const Json& arguments, int64_t) override {
    const ExpressionValue result = evaluate_expression(arguments.at("expression").get<std::string>());
    if (result.status != ExpressionValue::Status::kOk) return {result.detail, true};
    const Rational& value = result.value;
    const std::string numerator = digits_of(value.numerator);
    return {value.denominator == 1 ? numerator : numerator + "/" + digits_of(value.denominator)};
  }
};

}  // namespace

std::unique_ptr<Tool> make_calculator() { return std::make_unique<Calculator>(); }

}  // namespace cohort
