// What follows a value: .attribute, [item], (call), |filter and `is test`.
#include "libs/jinja/internal/expression_parser.h"
#include "libs/jinja/internal/filters.h"
#include "libs/jinja/internal/tests.h"

namespace cohort::jinja {
namespace {

using Kind = Expression::Kind;

}  // namespace

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr value) {
  while (true) {
    if (at_operator(".") || at_operator("[")) {
      value = parse_subscript(std::move(value));
    } else if (at_operator("(")) {
      value = parse_call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::parse_postfix_filters(ExpressionPtr value) {
  while (true) {
    if (at_operator("|")) {
      value = parse_filters(std::move(value));
    } else if (at_name("is")) {
      value = parse_test(std::move(value));
    } else if (at_operator("(")) {
      value = parse_call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr value) {
  const int line = this->line();
  if (skip_operator("[")) return parse_subscripts(std::move(value), line);
  expect_operator(".");
  if (at(TokenKind::kInteger)) {
    ExpressionPtr index = constant(make_integer(*current().integer));
    next();
    return node(Kind::kItem, line, operands_of(std::move(value), std::move(index)));
  }
  if (!at(TokenKind::kName)) fail("expected name or number, got " + described());
  ExpressionPtr result = node(Kind::kAttribute, line, operands_of(std::move(value)));
  result->name = next().text;
  return result;
}

ExpressionPtr ExpressionParser::parse_subscripts(ExpressionPtr value, int line) {
  std::vector<ExpressionPtr> items;
  while (!at_operator("]")) {
    if (!items.empty()) expect_operator(",");
    ExpressionPtr part;
    if (!at_operator(":")) part = parse_expression();
    if (!skip_operator(":")) {
      items.push_back(std::move(part));
      continue;
    }
    std::vector<ExpressionPtr> slice = operands_of(std::move(value), std::move(part));
    slice.push_back(at_operator(":") || at_operator("]") ? nullptr : parse_expression());
    const bool has_step = skip_operator(":") && !at_operator("]");
    slice.push_back(has_step ? parse_expression() : nullptr);
    if (!items.empty() || !skip_operator("]")) fail("a slice inside a tuple is not supported");
    return node(Kind::kSlice, line, std::move(slice));
  }
  expect_operator("]");
  ExpressionPtr key = items.size() == 1 ? std::move(items[0]) : node(Kind::kTuple, line, std::move(items));
  return node(Kind::kItem, line, operands_of(std::move(value), std::move(key)));
}

std::unique_ptr<CallArguments> ExpressionParser::parse_arguments() {
  const Nested nested(*this);
  auto arguments = std::make_unique<CallArguments>();
  expect_operator("(");
  const auto ensure = [&](bool holds) {
    if (!holds) fail("invalid syntax for function call expression");
  };
  for (bool first = true; !at_operator(")"); first = false) {
    if (!first) expect_operator(",");
    if (at_operator(")")) break;
    if (skip_operator("*")) {
      ensure(!arguments->list && !arguments->mapping);
      arguments->list = parse_expression();
    } else if (skip_operator("**")) {
      ensure(!arguments->mapping);
      arguments->mapping = parse_expression();
    } else if (at(TokenKind::kName) && look().kind == TokenKind::kOperator && look().text == "=") {
      ensure(!arguments->mapping);
      std::string name = next().text;
      next();
      for (const auto& [other, value] : arguments->keyword) {
        if (other == name) fail("keyword argument repeated: " + name);
      }
      arguments->keyword.emplace_back(std::move(name), parse_expression());
    } else {
      ensure(!arguments->list && !arguments->mapping && arguments->keyword.empty());
      arguments->positional.push_back(parse_expression());
    }
  }
  expect_operator(")");
  return arguments;
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr value) {
  const int line = this->line();
  auto arguments = parse_arguments();
  ExpressionPtr result = node(Kind::kCall, line, operands_of(std::move(value)));
  attach(*result, std::move(arguments));
  return result;
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = expect_any_name();
  while (skip_operator(".")) name += "." + expect_any_name();
  return name;
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr value, bool inside_tag_already) {
  while (inside_tag_already || at_operator("|")) {
    if (!inside_tag_already) next();
    inside_tag_already = false;
    const int line = this->line();
    std::string name = parse_dotted_name();
    auto arguments = at_operator("(") ? parse_arguments() : std::make_unique<CallArguments>();
    value = node(Kind::kFilter, line, operands_of(std::move(value)));
    value->filter = find_filter(name);
    value->name = std::move(name);
    attach(*value, std::move(arguments));
  }
  return value;
}

/// The operand of a test without brackets: `x is divisibleby 3`.
ExpressionPtr ExpressionParser::parse_test_operand() {
  const bool begins = at(TokenKind::kName) || at(TokenKind::kText) || at(TokenKind::kInteger) ||
                      at(TokenKind::kFloat) || at_operator("[") || at_operator("{");
  if (!begins || at_name("else") || at_name("or") || at_name("and")) return nullptr;
  if (at_name("is")) fail("You cannot chain multiple tests with is");
  return parse_postfix(parse_primary());
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr value) {
  const int line = next().line;
  const bool negated = skip_name("not");
  std::string name = parse_dotted_name();
  std::unique_ptr<CallArguments> arguments;
  if (at_operator("(")) {
    arguments = parse_arguments();
  } else {
    arguments = std::make_unique<CallArguments>();
    if (ExpressionPtr operand = parse_test_operand()) arguments->positional.push_back(std::move(operand));
  }
  ExpressionPtr result = node(Kind::kTest, line, operands_of(std::move(value)));
  result->test = find_test(name);
  result->name = std::move(name);
  attach(*result, std::move(arguments));
  return negated ? node(Kind::kNot, line, operands_of(std::move(result))) : std::move(result);
}

}  // namespace cohort::jinja
