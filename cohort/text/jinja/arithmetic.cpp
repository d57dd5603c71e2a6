// + - * / // % ** as Python has them, with ints of 64 bits: a template that needs longer ones is refused.
#include <cmath>

#include "cohort/text/jinja/operations.h"
#include "cohort/text/jinja/python_text.h"

namespace cohort::jinja {
namespace {

const char* symbol(BinaryOperator operation) {
  static const char* const kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  return kSymbols[static_cast<int>(operation)];
}

[[noreturn]] void throw_overflow() {
  throw TemplateError("the template computes an integer beyond 64 bits, which is not supported");
}

[[noreturn]] void throw_unsupported(BinaryOperator operation, const Value& left, const Value& right) {
  require_defined(left);
  require_defined(right);
  throw_type_error(str("unsupported operand type(s) for ", symbol(operation), ": '", type_name(left),
                       "' and '", type_name(right), "'"));
}

int64_t floor_divide(int64_t left, int64_t right) {
  if (right == 0) throw TemplateError("integer division or modulo by zero");
  if (right == -1) {
    int64_t result;
    if (__builtin_sub_overflow(int64_t{0}, left, &result)) throw_overflow();
    return result;
  }
  const int64_t quotient = left / right;
  return quotient - (left % right != 0 && (left < 0) != (right < 0));
}

int64_t modulo(int64_t left, int64_t right) {
  if (right == -1) return 0;
  return left - floor_divide(left, right) * right;
}

Value power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) throw TemplateError("0.0 cannot be raised to a negative power");
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  int64_t result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? int64_t{1} : base;
  if (base == -1) return int64_t{exponent % 2 == 0 ? 1 : -1};
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) throw_overflow();
  }
  return result;
}

Value divide(double left, double right) {
  if (right == 0) throw TemplateError("division by zero");
  return left / right;
}

Value whole_numbers(BinaryOperator operation, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (operation) {
    case BinaryOperator::kAdd:
      if (__builtin_add_overflow(left, right, &result)) throw_overflow();
      return result;
    case BinaryOperator::kSub:
      if (__builtin_sub_overflow(left, right, &result)) throw_overflow();
      return result;
    case BinaryOperator::kMul:
      if (__builtin_mul_overflow(left, right, &result)) throw_overflow();
      return result;
    case BinaryOperator::kDiv:
      return divide(static_cast<double>(left), static_cast<double>(right));
    case BinaryOperator::kFloorDiv:
      return floor_divide(left, right);
    case BinaryOperator::kMod:
      if (right == 0) throw TemplateError("integer division or modulo by zero");
      return modulo(left, right);
    default:
      return power(left, right);
  }
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
  if (const auto a = left.integer(), b = right.integer(); a && b) return whole_numbers(operation, *a, *b);
  if (const auto a = left.number(), b = right.number(); a && b) return real_numbers(operation, *a, *b);
  if (const std::optional<Value> result = sequences(runtime, operation, left, right)) return *result;
  throw_unsupported(operation, left, right);
}

Value negative(const Value& value) {
  require_defined(value);
  if (const auto whole = value.integer()) return whole_numbers(BinaryOperator::kSub, 0, *whole);
  if (const auto real = value.number()) return -*real;
  throw_type_error("bad operand type for unary -: '" + type_name(value) + "'");
}

Value positive(const Value& value) {
  require_defined(value);
  if (const auto whole = value.integer()) return *whole;
  if (const auto real = value.number()) return *real;
  throw_type_error("bad operand type for unary +: '" + type_name(value) + "'");
}

}  // namespace cohort::jinja
