// + - * / // % ** as Python has them.
#include <cmath>

#include "libs/common/str.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

const char* symbol(BinaryOperator operation) {
  static constexpr const char* kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  return kSymbols[static_cast<int>(operation)];
}

[[noreturn]] void throw_unsupported(BinaryOperator operation, const Value& left, const Value& right) {
  require_defined(left);
  require_defined(right);
  throw_type_error(str("unsupported operand type(s) for ", symbol(operation), ": '", type_name(left),
                       "' and '", type_name(right), "'"));
}

Value power(Runtime& runtime, const BigInteger& base, int64_t exponent) {
  BigInteger result(1), square = base;
  for (; exponent > 0; exponent >>= 1) {
    runtime.step(1 + square.num_limbs() * square.num_limbs() / 64);
    if ((exponent & 1) != 0) result = *make_integer(result * square).big_integer();
    if (exponent > 1) square = *make_integer(square * square).big_integer();
  }
  return make_integer(std::move(result));
}

double finite(double number) {
  if (std::isinf(number)) throw TemplateError("int too large to convert to float");
  return number;
}

Value divide(double left, double right) {
  if (right == 0) throw TemplateError("division by zero");
  return left / right;
}

Value power(Runtime& runtime, const Value& left, const Value& right) {
  const BigInteger base = *left.big_integer();
  const auto exponent = right.integer();
  if (right.big_integer()->is_negative()) {
    if (base.is_zero()) throw TemplateError("0.0 cannot be raised to a negative power");
    return std::pow(*left.number(), *right.number());
  }
  // All others grow beyond any limit.
  const bool is_unit = base.is_zero() || base.text() == "1" || base.text() == "-1";
  if (is_unit && !exponent)
    return power(
        runtime, base,
        *(BigInteger::divide(*right.big_integer(), BigInteger(2)).second + BigInteger(2)).to_int64());
  if (!exponent) throw TemplateError("an integer of more than 4,300 digits is not supported");
  return power(runtime, base, *exponent);
}

/// Ints of any size.
Value large_numbers(Runtime& runtime, BinaryOperator operation, const Value& left, const Value& right) {
  const BigInteger a = *left.big_integer(), b = *right.big_integer();
  runtime.step(a.num_limbs() * b.num_limbs() / 64);
  switch (operation) {
    case BinaryOperator::kAdd:
      return make_integer(a + b);
    case BinaryOperator::kSub:
      return make_integer(a - b);
    case BinaryOperator::kMul:
      return make_integer(a * b);
    case BinaryOperator::kDiv:
      return divide(finite(*left.number()), finite(*right.number()));
    case BinaryOperator::kPow:
      return power(runtime, left, right);
    default:
      if (b.is_zero()) throw TemplateError("integer division or modulo by zero");
      runtime.step(a.num_limbs() * (b.num_limbs() + 1) / 2);
      auto [quotient, remainder] = BigInteger::divide(a, b);
      return make_integer(operation == BinaryOperator::kMod ? std::move(remainder) : std::move(quotient));
  }
}

/// The same where all fits 64 bits; nothing where it does not.
std::optional<Value> small_numbers(BinaryOperator operation, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (operation) {
    case BinaryOperator::kAdd:
      return __builtin_add_overflow(left, right, &result) ? std::nullopt : std::optional<Value>(result);
    case BinaryOperator::kSub:
      return __builtin_sub_overflow(left, right, &result) ? std::nullopt : std::optional<Value>(result);
    case BinaryOperator::kMul:
      return __builtin_mul_overflow(left, right, &result) ? std::nullopt : std::optional<Value>(result);
    case BinaryOperator::kFloorDiv:
      return left >= 0 && right > 0 ? std::optional<Value>(left / right) : std::nullopt;
    case BinaryOperator::kMod:
      return left >= 0 && right > 0 ? std::optional<Value>(left % right) : std::nullopt;
    default:
      return std::nullopt;
  }
}

Value whole_numbers(Runtime& runtime, BinaryOperator operation, const Value& left, const Value& right) {
  if (const auto a = left.integer(), b = right.integer(); a && b) {
    if (std::optional<Value> result = small_numbers(operation, *a, *b)) return *result;
  }
  return large_numbers(runtime, operation, left, right);
}

/// Python's float remainder has the sign of the divisor.
double modulo(double left, double right) {
  if (right == 0) throw TemplateError("float modulo");
  double result = std::fmod(left, right);
  if (result != 0 && (right < 0) != (result < 0)) result += right;
  return result == 0 ? std::copysign(0.0, right) : result;
}

Value real_numbers(BinaryOperator operation, double left, double right) {
  switch (operation) {
    case BinaryOperator::kAdd:
      return left + right;
    case BinaryOperator::kSub:
      return left - right;
    case BinaryOperator::kMul:
      return left * right;
    case BinaryOperator::kDiv:
      return divide(left, right);
    case BinaryOperator::kFloorDiv: {
      const double remainder = modulo(left, right);
      const double quotient = (left - remainder) / right;
      const double floored = std::floor(quotient);
      return quotient - floored > 0.5 ? floored + 1 : floored;
    }
    case BinaryOperator::kMod:
      return modulo(left, right);
    default: {
      if (left == 0 && right < 0) throw TemplateError("0.0 cannot be raised to a negative power");
      if (left < 0 && std::floor(right) != right) throw TemplateError("complex numbers are not supported");
      const double result = std::pow(left, right);
      if (std::isinf(result) && std::isfinite(left) && std::isfinite(right))
        throw TemplateError("the result is too large for a float");
      return result;
    }
  }
}

Value add_texts(Runtime& runtime, const Text& left, const Text& right) {
  const bool markup = left.markup || right.markup;
  runtime.allocate(static_cast<int64_t>(left.utf8.size() + right.utf8.size()));
  if (!markup) return runtime.text(left.utf8 + right.utf8);
  return runtime.text((left.markup ? left.utf8 : escape_markup(left.utf8)) +
                          (right.markup ? right.utf8 : escape_markup(right.utf8)),
                      true);
}

std::vector<Value> joined(Runtime& runtime, const std::vector<Value>& left, const std::vector<Value>& right) {
  runtime.allocate(static_cast<int64_t>((left.size() + right.size()) * sizeof(Value)));
  std::vector<Value> items = left;
  items.insert(items.end(), right.begin(), right.end());
  return items;
}

std::vector<Value> repeated(Runtime& runtime, const std::vector<Value>& items, int64_t count) {
  std::vector<Value> result;
  if (items.empty() || count <= 0) return result;
  runtime.allocate_items(count, static_cast<int64_t>(items.size() * sizeof(Value)));
  runtime.step(count);
  for (int64_t i = 0; i < count; ++i) result.insert(result.end(), items.begin(), items.end());
  return result;
}

/// A string, list or tuple times a number; nothing for other types.
std::optional<Value> repeat(Runtime& runtime, const Value& value, const Value& times) {
  const auto count = times.integer();
  if (!count) return std::nullopt;
  if (const Text* text = value.get<Text>()) {
    std::string result;
    if (!text->utf8.empty() && *count > 0) {
      runtime.allocate_items(*count, static_cast<int64_t>(text->utf8.size()));
      for (int64_t i = 0; i < *count; ++i) result += text->utf8;
    }
    return runtime.text(std::move(result), text->markup);
  }
  if (const List* list = value.get<List>()) return runtime.list(repeated(runtime, list->items, *count));
  if (const Tuple* tuple = value.get<Tuple>()) return runtime.tuple(repeated(runtime, tuple->items, *count));
  return std::nullopt;
}

std::optional<Value> sequences(Runtime& runtime, BinaryOperator operation, const Value& left,
                               const Value& right) {
  if (operation == BinaryOperator::kMul) {
    const std::optional<Value> result = repeat(runtime, left, right);
    return result ? result : repeat(runtime, right, left);
  }
  if (operation == BinaryOperator::kMod && left.get<Text>() != nullptr)
    return format_percent(runtime, left, right);
  if (operation != BinaryOperator::kAdd) return std::nullopt;
  if (left.get<Text>() && right.get<Text>()) return add_texts(runtime, *left.get<Text>(), *right.get<Text>());
  if (left.get<List>() && right.get<List>())
    return runtime.list(joined(runtime, left.get<List>()->items, right.get<List>()->items));
  if (left.get<Tuple>() && right.get<Tuple>())
    return runtime.tuple(joined(runtime, left.get<Tuple>()->items, right.get<Tuple>()->items));
  return std::nullopt;
}

}  // namespace

Value binary(Runtime& runtime, BinaryOperator operation, const Value& left, const Value& right) {
  if (left.is_whole() && right.is_whole()) return whole_numbers(runtime, operation, left, right);
  if (const auto a = left.number(), b = right.number(); a && b) {
    return real_numbers(operation, left.is_whole() ? finite(*a) : *a, right.is_whole() ? finite(*b) : *b);
  }
  if (const std::optional<Value> result = sequences(runtime, operation, left, right)) return *result;
  throw_unsupported(operation, left, right);
}

Value negative(const Value& value) {
  require_defined(value);
  if (const auto whole = value.big_integer()) return make_integer(-*whole);
  if (const auto real = value.number()) return -*real;
  throw_type_error("bad operand type for unary -: '" + type_name(value) + "'");
}

Value positive(const Value& value) {
  require_defined(value);
  if (const auto whole = value.big_integer()) return make_integer(*whole);
  if (const auto real = value.number()) return *real;
  throw_type_error("bad operand type for unary +: '" + type_name(value) + "'");
}

}  // namespace cohort::jinja
