// The recursive-descent parser behind parser.h. From the loosest to the tightest:
//   list      relation {(, ; and or) relation}
//   relation  sets {(= < > <= >= !=) sets}, or sets "in" sets
//   sets      sum {(union, intersection, minus) sum}
//   sum       product {(+ - plus-minus) product}
//   product   unary {(* / or nothing) unary}, and units
//   unary     {+ -} power
//   power     primary {^ exponent, ! % degree}
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/rewards/math/parser.h"

namespace cohort::math {

class Grammar {
 public:
  explicit Grammar(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  /// The whole text. Throws ParseFailure and TreeLimit.
  Expression parse_all();

 private:
  // grammar.cpp: operators.
  NodeId list();
  NodeId relation();
  NodeId sets();
  NodeId sum();
  NodeId product();
  NodeId divisor(NodeId left);
  NodeId unary();
  NodeId power();
  NodeId raised(NodeId base);
  NodeId exponent();
  NodeId measured(NodeId value);
  bool take_degree_sign();

  // operands.cpp: what operators join.
  NodeId primary();
  NodeId number();
  NodeId symbol();
  NodeId words();
  NodeId punctuation();
  NodeId structure();
  NodeId call();
  NodeId call_argument();
  NodeId brace_group();
  NodeId bracketed();
  NodeId set_braces();
  NodeId absolute_value();
  NodeId currency(std::string_view name);

  // notation.cpp: LaTeX commands with arguments.
  NodeId fraction();
  NodeId square_root();
  NodeId binomial();
  NodeId rounded(std::string_view name, std::string_view close);
  NodeId accented(std::string_view accent);
  NodeId number_set();
  NodeId matrix();
  NodeId tex_argument();
  NodeId plain_number();
  bool mixed_fraction_follows() const;
  NodeId scientific(const std::string& text);
  NodeId repeating(const std::string& text);
  NodeId based(const std::string& digits);
  std::string subscript();
  std::string take_group_text();
  std::optional<std::string> digit_argument(size_t& offset) const;
  std::string definition_name();

  /// What a bracket opens anew and its end restores.
  class Scope {
   public:
    Scope(Grammar& grammar, bool is_set)
        : grammar_(grammar),
          num_open_bars_(std::exchange(grammar.num_open_bars_, 0)),
          is_in_set_(std::exchange(grammar.is_in_set_, is_set)),
          is_after_comma_(std::exchange(grammar.is_after_comma_, false)) {}
    ~Scope() {
      grammar_.num_open_bars_ = num_open_bars_;
      grammar_.is_in_set_ = is_in_set_;
      grammar_.is_after_comma_ = is_after_comma_;
    }

   private:
    Grammar& grammar_;
    int num_open_bars_;
    bool is_in_set_;
    bool is_after_comma_;
  };

  const Token& peek(size_t offset = 0) const {
    return tokens_[std::min(position_ + offset, tokens_.size() - 1)];
  }
  bool is(std::string_view text, size_t offset = 0) const {
    const Token& token = peek(offset);
    return token.text == text &&
           (token.kind == TokenKind::kPunctuation || token.kind == TokenKind::kStructure);
  }
  bool consume(std::string_view text) {
    if (!is(text)) return false;
    ++position_;
    return true;
  }
  void expect(std::string_view text);
  [[noreturn]] void fail(const std::string& reason) const;
  bool starts_operand() const;
  bool is_union_letter() const;
  NodeId add(Kind kind, std::string text, std::vector<NodeId> children = {}) {
    return tree_.add(kind, std::move(text), std::move(children));
  }
  NodeId join(Kind kind, std::vector<NodeId> parts) {
    return parts.size() == 1 ? parts[0] : add(kind, "", std::move(parts));
  }

  static constexpr size_t kMaxDigits = 1000;

  std::vector<Token> tokens_;
  size_t position_ = 0;
  Tree tree_;
  int nesting_ = 0;
  int num_open_bars_ = 0;        // | that wait for their partner, in this bracket
  bool is_in_set_ = false;       // right inside \{ \}, where | and : introduce a condition
  bool is_after_comma_ = false;  // in a bracket where [ closes an interval
};

}  // namespace cohort::math
