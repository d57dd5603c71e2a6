// What the two halves of the parser share: the tokens and how they are asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libs/common/str.h"
#include "libs/jinja/internal/ast.h"
#include "libs/jinja/internal/token.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {

/// Nested tags, brackets and operators: more would overflow the stack.
constexpr int kMaxNesting = 100;
/// Levels of an expression's tree, chains of operators among them.
constexpr int kMaxExpressionDepth = 400;

class ParserBase {
 public:
  explicit ParserBase(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  const Token& current() const { return tokens_[pos_]; }
  const Token& look() const { return tokens_[pos_ + 1 < tokens_.size() ? pos_ + 1 : pos_]; }
  const Token& next() { return tokens_[pos_ + 1 < tokens_.size() ? pos_++ : pos_]; }
  int line() const { return current().line; }

  bool at(TokenKind kind) const { return current().kind == kind; }
  bool at_name(std::string_view name) const { return at(TokenKind::kName) && current().text == name; }
  bool at_operator(std::string_view text) const { return at(TokenKind::kOperator) && current().text == text; }
  bool skip_name(std::string_view name) { return at_name(name) && (++pos_, true); }
  bool skip_operator(std::string_view text) { return at_operator(text) && (++pos_, true); }

  [[noreturn]] void fail(const std::string& message) const {
    throw TemplateError(str("line ", line(), ": ", message));
  }
  std::string described() const {
    switch (current().kind) {
      case TokenKind::kEnd:
        return "the end of the template";
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kVariableEnd:
        return "'}}'";
      case TokenKind::kData:
        return "text";
      case TokenKind::kText:
        return "a string";
      case TokenKind::kInteger:
      case TokenKind::kFloat:
        return "a number";
      default:
        return "'" + current().text + "'";
    }
  }
  void expect_operator(std::string_view text) {
    if (!skip_operator(text)) fail(str("expected '", text, "', got ", described()));
  }
  void expect_name(std::string_view name) {
    if (!skip_name(name)) fail(str("expected '", name, "', got ", described()));
  }
  std::string expect_any_name() {
    if (!at(TokenKind::kName)) fail(str("expected a name, got ", described()));
    return next().text;
  }
  void expect(TokenKind kind, const char* what) {
    if (!at(kind)) fail(str("expected '", what, "', got ", described()));
    next();
  }

  /// One level of nesting while it lives.
  class Nested {
   public:
    explicit Nested(ParserBase& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting) parser_.fail(str("nested deeper than ", kMaxNesting, " levels"));
    }
    ~Nested() { --parser_.nesting_; }

   private:
    ParserBase& parser_;
  };

 private:
  std::vector<Token> tokens_;
  size_t pos_ = 0;
  int nesting_ = 0;
};

}  // namespace cohort::jinja
