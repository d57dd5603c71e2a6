#include "libs/jinja/internal/expression_parser.h"

#include <algorithm>
#include <map>

#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/python_text.h"

namespace cohort::jinja {
namespace {

using Kind = Expression::Kind;

Value constant_text(std::string utf8) {
  const int64_t length = count_code_points(utf8);
  return std::make_shared<const Text>(Text{std::move(utf8), length});
}

}  // namespace

ExpressionPtr ExpressionParser::node(Kind kind, int line, std::vector<ExpressionPtr> operands) {
  auto result = std::make_unique<Expression>(Expression{kind, line});
  for (const ExpressionPtr& operand : operands)
    if (operand) result->depth = std::max(result->depth, operand->depth + 1);
  check_depth_of(*result);
  result->operands = std::move(operands);
  return result;
}

void ExpressionParser::attach(Expression& call, std::unique_ptr<CallArguments> arguments) {
  const auto deepen = [&](const ExpressionPtr& argument) {
    if (argument) call.depth = std::max(call.depth, argument->depth + 1);
  };
  for (const ExpressionPtr& argument : arguments->positional) deepen(argument);
  for (const auto& [name, argument] : arguments->keyword) deepen(argument);
  deepen(arguments->list);
  deepen(arguments->mapping);
  check_depth_of(call);
  call.arguments = std::move(arguments);
}

void ExpressionParser::check_depth_of(const Expression& expression) const {
  if (expression.depth > kMaxExpressionDepth)
    fail(str("an expression is deeper than ", kMaxExpressionDepth, " levels"));
}

ExpressionPtr ExpressionParser::constant(Value value) {
  ExpressionPtr result = node(Kind::kConstant, line());
  result->constant = std::move(value);
  return result;
}

ExpressionPtr ExpressionParser::parse_expression(Conditional conditional) {
  const Nested nested(*this);
  return conditional == Conditional::kYes ? parse_conditional() : parse_or();
}

ExpressionPtr ExpressionParser::parse_conditional() {
  ExpressionPtr then = parse_or();
  while (at_name("if")) {
    const int line = next().line;
    ExpressionPtr test = parse_or();
    ExpressionPtr otherwise;
    if (skip_name("else")) otherwise = parse_expression();
    then =
        node(Kind::kConditional, line, operands_of(std::move(test), std::move(then), std::move(otherwise)));
  }
  return then;
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (at_name("or")) {
    const int line = next().line;
    left = node(Kind::kOr, line, operands_of(std::move(left), parse_and()));
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (at_name("and")) {
    const int line = next().line;
    left = node(Kind::kAnd, line, operands_of(std::move(left), parse_not()));
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!at_name("not")) return parse_comparison();
  const Nested nested(*this);
  const int line = next().line;
  return node(Kind::kNot, line, operands_of(parse_not()));
}

ExpressionPtr ExpressionParser::parse_comparison() {
  static const std::map<std::string, Comparison, std::less<>> operators = {
      {"==", Comparison::kEqual},     {"!=", Comparison::kNotEqual}, {"<", Comparison::kLess},
      {"<=", Comparison::kLessEqual}, {">", Comparison::kGreater},   {">=", Comparison::kGreaterEqual}};
  const int line = this->line();
  std::vector<ExpressionPtr> operands = operands_of(parse_sum());
  std::vector<Comparison> comparisons;
  while (true) {
    const auto it = at(TokenKind::kOperator) ? operators.find(current().text) : operators.end();
    if (it != operators.end()) {
      next();
      comparisons.push_back(it->second);
    } else if (skip_name("in")) {
      comparisons.push_back(Comparison::kIn);
    } else if (at_name("not") && look().kind == TokenKind::kName && look().text == "in") {
      next();
      next();
      comparisons.push_back(Comparison::kNotIn);
    } else {
      break;
    }
    operands.push_back(parse_sum());
  }
  if (comparisons.empty()) return std::move(operands[0]);
  ExpressionPtr result = node(Kind::kCompare, line, std::move(operands));
  result->comparisons = std::move(comparisons);
  return result;
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concat();
  while (at_operator("+") || at_operator("-")) {
    const Token& token = next();
    const BinaryOperator operation = token.text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSub;
    const int line = token.line;
    left = node(Kind::kBinary, line, operands_of(std::move(left), parse_concat()));
    left->binary = operation;
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  const int line = this->line();
  std::vector<ExpressionPtr> operands = operands_of(parse_product());
  while (skip_operator("~")) operands.push_back(parse_product());
  return operands.size() == 1 ? std::move(operands[0]) : node(Kind::kConcat, line, std::move(operands));
}

ExpressionPtr ExpressionParser::parse_product() {
  static const std::map<std::string, BinaryOperator, std::less<>> operators = {
      {"*", BinaryOperator::kMul},
      {"/", BinaryOperator::kDiv},
      {"//", BinaryOperator::kFloorDiv},
      {"%", BinaryOperator::kMod}};
  ExpressionPtr left = parse_power();
  while (at(TokenKind::kOperator) && operators.contains(current().text)) {
    const Token& token = next();
    const BinaryOperator operation = operators.find(token.text)->second;
    const int line = token.line;
    left = node(Kind::kBinary, line, operands_of(std::move(left), parse_power()));
    left->binary = operation;
  }
  return left;
}

/// From left to right, unlike Python's own.
ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary(true);
  while (at_operator("**")) {
    const int line = next().line;
    left = node(Kind::kBinary, line, operands_of(std::move(left), parse_unary(true)));
    left->binary = BinaryOperator::kPow;
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filter) {
  const Nested nested(*this);
  ExpressionPtr value;
  if (at_operator("-") || at_operator("+")) {
    const Token& token = next();
    const Kind kind = token.text == "-" ? Kind::kNegative : Kind::kPositive;
    const int line = token.line;
    value = node(kind, line, operands_of(parse_unary(false)));
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return with_filter ? parse_postfix_filters(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::parse_primary(bool with_namespace) {
  const Token& token = current();
  if (token.kind == TokenKind::kName) return parse_named(with_namespace);
  if (token.kind == TokenKind::kText) {
    std::string text;
    while (at(TokenKind::kText)) text += next().text;
    return constant(constant_text(std::move(text)));
  }
  if (token.kind == TokenKind::kInteger) return constant(make_integer(*next().integer));
  if (token.kind == TokenKind::kFloat) return constant(next().real);
  if (at_operator("[")) return parse_list();
  if (at_operator("{")) return parse_dict();
  if (!skip_operator("(")) fail("unexpected " + described());
  ExpressionPtr value = parse_tuple(Conditional::kYes, {}, true);
  expect_operator(")");
  return value;
}

ExpressionPtr ExpressionParser::parse_named(bool with_namespace) {
  const int line = this->line();
  std::string name = next().text;
  if (name == "true" || name == "True") return constant(true);
  if (name == "false" || name == "False") return constant(false);
  if (name == "none" || name == "None") return constant(None());
  const bool is_attribute = with_namespace && skip_operator(".");
  ExpressionPtr result = node(is_attribute ? Kind::kNamespace : Kind::kName, line);
  result->name = std::move(name);
  if (is_attribute) result->attribute = expect_any_name();
  return result;
}

bool ExpressionParser::at_tuple_end(std::string_view end) const {
  return at(TokenKind::kVariableEnd) || at(TokenKind::kBlockEnd) || at_operator(")") ||
         (!end.empty() && at_name(end));
}

ExpressionPtr ExpressionParser::parse_tuple(Conditional conditional, std::string_view end, bool in_brackets) {
  const int line = this->line();
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_operator(",");
    if (at_tuple_end(end)) break;
    items.push_back(parse_expression(conditional));
    if (!at_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !in_brackets) fail("Expected an expression, got " + described());
  return node(Kind::kTuple, line, std::move(items));
}

ExpressionPtr ExpressionParser::parse_name_target() {
  const int line = this->line();
  ExpressionPtr target = node(Kind::kName, line);
  target->name = expect_any_name();
  for (const char* reserved : {"true", "false", "none", "True", "False", "None"})
    if (target->name == reserved) fail("can't assign to " + target->name);
  return target;
}

ExpressionPtr ExpressionParser::parse_target(std::string_view end, bool with_namespace) {
  const Nested nested(*this);
  const int line = this->line();
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_operator(",");
    if (at_tuple_end(end)) break;
    if (skip_operator("(")) {
      items.push_back(parse_target({}, with_namespace));
      expect_operator(")");
    } else {
      items.push_back(parse_primary(with_namespace));
    }
    const Kind kind = items.back()->kind;
    if (kind != Kind::kName && kind != Kind::kNamespace && kind != Kind::kTuple)
      fail("can't assign to " + std::string(kind == Kind::kConstant ? "a constant" : "an expression"));
    if (!at_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple) fail("Expected an expression, got " + described());
  return node(Kind::kTuple, line, std::move(items));
}

ExpressionPtr ExpressionParser::parse_list() {
  const int line = this->line();
  expect_operator("[");
  std::vector<ExpressionPtr> items;
  while (!at_operator("]")) {
    if (!items.empty()) expect_operator(",");
    if (at_operator("]")) break;
    items.push_back(parse_expression());
  }
  expect_operator("]");
  return node(Kind::kList, line, std::move(items));
}

ExpressionPtr ExpressionParser::parse_dict() {
  const int line = this->line();
  expect_operator("{");
  std::vector<ExpressionPtr> items;
  while (!at_operator("}")) {
    if (!items.empty()) expect_operator(",");
    if (at_operator("}")) break;
    items.push_back(parse_expression());
    expect_operator(":");
    items.push_back(parse_expression());
  }
  expect_operator("}");
  return node(Kind::kDict, line, std::move(items));
}

}  // namespace cohort::jinja
