// The interpreter's expressions.
#include "libs/common/str.h"
#include "libs/jinja/internal/filters.h"
#include "libs/jinja/internal/interpreter.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/internal/tests.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

using Kind = Expression::Kind;

bool holds(Runtime& runtime, Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::kEqual:
      return equal(runtime, left, right);
    case Comparison::kNotEqual:
      return !equal(runtime, left, right);
    case Comparison::kLess:
      return compare(runtime, left, right, "<") == -1;
    case Comparison::kLessEqual: {
      const int order = compare(runtime, left, right, "<=");
      return order == -1 || order == 0;
    }
    case Comparison::kGreater:
      return compare(runtime, left, right, ">") == 1;
    case Comparison::kGreaterEqual: {
      const int order = compare(runtime, left, right, ">=");
      return order == 0 || order == 1;
    }
    case Comparison::kIn:
      return contains(runtime, right, left);
    default:
      return !contains(runtime, right, left);
  }
}

}  // namespace

Value Interpreter::evaluate(const Expression& expression, Activation& activation) {
  runtime_.step();
  switch (expression.kind) {
    case Kind::kData:
    case Kind::kConstant:
      return expression.constant;
    case Kind::kName: {
      const Value& value = slot(expression.variable, activation);
      return value.is_missing() ? runtime_.undefined("'" + expression.name + "' is undefined") : value;
    }
    default: {
      const Runtime::Level level(runtime_);
      return evaluate_inner(expression, activation);
    }
  }
}

Value Interpreter::evaluate_inner(const Expression& expression, Activation& activation) {
  const auto operand = [&](size_t i) { return evaluate(*expression.operands[i], activation); };
  switch (expression.kind) {
    case Kind::kTuple:
      return runtime_.tuple(evaluate_all(expression.operands, activation));
    case Kind::kList:
      return runtime_.list(evaluate_all(expression.operands, activation));
    case Kind::kDict:
      return evaluate_dict(expression, activation);
    case Kind::kConcat:
      return evaluate_concat(expression, activation);
    case Kind::kAnd: {
      const Value left = operand(0);
      return truth(left) ? operand(1) : left;
    }
    case Kind::kOr: {
      const Value left = operand(0);
      return truth(left) ? left : operand(1);
    }
    case Kind::kNot:
      return !truth(operand(0));
    case Kind::kNegative:
      return negative(operand(0));
    case Kind::kPositive:
      return positive(operand(0));
    case Kind::kBinary: {
      const Value left = operand(0);
      return binary(runtime_, expression.binary, left, operand(1));
    }
    case Kind::kCompare:
      return evaluate_comparison(expression, activation);
    case Kind::kConditional:
      if (truth(operand(0))) return operand(1);
      if (expression.operands[2]) return operand(2);
      return runtime_.undefined(str("the inline if-expression on line ", expression.line,
                                    " evaluated to false and no else section was defined."));
    case Kind::kAttribute:
      return get_attribute(runtime_, operand(0), expression.name);
    case Kind::kItem: {
      const Value value = operand(0);
      return get_item(runtime_, value, operand(1));
    }
    case Kind::kSlice:
      return evaluate_slice(expression, activation);
    case Kind::kCall:
      return evaluate_call(expression, activation, nullptr);
    case Kind::kFilter:
      return evaluate_filter(expression, operand(0), activation);
    default:
      return evaluate_test(expression, activation);
  }
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExpressionPtr>& expressions,
                                             Activation& activation) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) values.push_back(evaluate(*expression, activation));
  return values;
}

Value Interpreter::evaluate_dict(const Expression& expression, Activation& activation) {
  Dict dict;
  for (size_t i = 0; i < expression.operands.size(); i += 2) {
    const Value key = evaluate(*expression.operands[i], activation);
    dict.set(runtime_, key, evaluate(*expression.operands[i + 1], activation));
  }
  return runtime_.dict(std::move(dict));
}

Value Interpreter::evaluate_concat(const Expression& expression, Activation& activation) {
  const std::vector<Value> values = evaluate_all(expression.operands, activation);
  std::string text;
  for (const Value& value : values) {
    const std::string part = to_text(runtime_, value);
    runtime_.allocate(static_cast<int64_t>(part.size()));
    text += part;
  }
  return runtime_.text(std::move(text));
}

Value Interpreter::evaluate_comparison(const Expression& expression, Activation& activation) {
  Value left = evaluate(*expression.operands[0], activation);
  for (size_t i = 0; i < expression.comparisons.size(); ++i) {
    const Value right = evaluate(*expression.operands[i + 1], activation);
    if (!holds(runtime_, expression.comparisons[i], left, right)) return false;
    left = right;
  }
  return true;
}

Value Interpreter::evaluate_slice(const Expression& expression, Activation& activation) {
  Value parts[4];
  for (size_t i = 0; i < 4; ++i) {
    const ExpressionPtr& operand = expression.operands[i];
    parts[i] = operand ? evaluate(*operand, activation) : Value(None());
  }
  return get_slice(runtime_, parts[0], parts[1], parts[2], parts[3]);
}

Value Interpreter::evaluate_filter(const Expression& expression, const Value& value, Activation& activation) {
  if (expression.filter == nullptr) throw_no_filter(expression.name);
  return expression.filter(runtime_, value, evaluate_arguments(*expression.arguments, activation));
}

Value Interpreter::evaluate_test(const Expression& expression, Activation& activation) {
  const Value value = evaluate(*expression.operands[0], activation);
  if (expression.test == nullptr) throw TemplateError(str("No test named '", expression.name, "' found."));
  return expression.test(runtime_, value, evaluate_arguments(*expression.arguments, activation));
}

Value Interpreter::evaluate_call(const Expression& expression, Activation& activation, const Value* caller) {
  const Value callee = evaluate(*expression.operands[0], activation);
  Arguments arguments = evaluate_arguments(*expression.arguments, activation);
  if (caller != nullptr) arguments.keyword.emplace_back("caller", *caller);
  return call(callee, arguments);
}

Arguments Interpreter::evaluate_arguments(const CallArguments& call, Activation& activation) {
  Arguments arguments;
  arguments.positional = evaluate_all(call.positional, activation);
  for (const auto& [name, value] : call.keyword)
    arguments.keyword.emplace_back(name, evaluate(*value, activation));
  if (call.list) {
    for (const Value& item : items_of(runtime_, evaluate(*call.list, activation)))
      arguments.positional.push_back(item);
  }
  if (!call.mapping) return arguments;
  const Value mapping = evaluate(*call.mapping, activation);
  if (mapping.get<Dict>() == nullptr)
    throw_type_error("argument after ** must be a mapping, not " + type_name(mapping));
  for (const auto& [key, value] : mapping.get<Dict>()->entries()) {
    const Text* name = key.get<Text>();
    if (name == nullptr) throw_type_error("keywords must be strings");
    for (const auto& [other, unused] : arguments.keyword) {
      runtime_.step();
      if (other == name->utf8) throw_type_error("got multiple values for keyword argument '" + other + "'");
    }
    arguments.keyword.emplace_back(name->utf8, value);
  }
  return arguments;
}

}  // namespace cohort::jinja
