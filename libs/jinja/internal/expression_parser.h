// The parser of expressions, by precedence from conditional expressions down to literals.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libs/jinja/internal/parser_base.h"

namespace cohort::jinja {

class ExpressionParser : public ParserBase {
 public:
  using ParserBase::ParserBase;

 protected:
  enum class Conditional { kYes, kNo };

  ExpressionPtr parse_expression(Conditional conditional = Conditional::kYes);

  /// One expression, or several with commas between as a tuple; `end` is a name that ends it.
  ExpressionPtr parse_tuple(Conditional conditional = Conditional::kYes, std::string_view end = {},
                            bool in_brackets = false);

  /// Names, tuples of names and, where allowed, attributes of namespaces.
  ExpressionPtr parse_target(std::string_view end, bool with_namespace);
  ExpressionPtr parse_name_target();

  /// Filters behind `value`; null for those of a block. Nothing parsed, `value` itself.
  ExpressionPtr parse_filters(ExpressionPtr value, bool inside_tag_already = false);

 private:
  ExpressionPtr parse_conditional();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filter);
  ExpressionPtr parse_primary(bool with_namespace = false);
  ExpressionPtr parse_named(bool with_namespace);
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr value);
  ExpressionPtr parse_postfix_filters(ExpressionPtr value);
  ExpressionPtr parse_subscript(ExpressionPtr value);
  ExpressionPtr parse_subscripts(ExpressionPtr value, int line);
  ExpressionPtr parse_call(ExpressionPtr value);
  ExpressionPtr parse_test(ExpressionPtr value);
  ExpressionPtr parse_test_operand();
  std::unique_ptr<CallArguments> parse_arguments();
  std::string parse_dotted_name();
  bool at_tuple_end(std::string_view end) const;
  ExpressionPtr node(Expression::Kind kind, int line, std::vector<ExpressionPtr> operands = {});
  ExpressionPtr constant(Value value);
  void attach(Expression& call, std::unique_ptr<CallArguments> arguments);
  void check_depth_of(const Expression& expression) const;
};

/// A vector of what can't be copied.
template <typename... Pointers>
std::vector<ExpressionPtr> operands_of(Pointers... pointers) {
  std::vector<ExpressionPtr> operands;
  (operands.push_back(std::move(pointers)), ...);
  return operands;
}

}  // namespace cohort::jinja
