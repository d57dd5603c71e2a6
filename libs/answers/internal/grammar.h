// The recursive-descent parser behind parser.h. From the loosest to the tightest:
//   list      relation {(, ; and or) relation}
//   relation  sets {(= < > <= >= !=) sets}, or sets "in" sets
//   sets      sum {(union, intersection, minus) sum}
//   sum       ratio {(+ - plus-minus) ratio}
//   ratio     product {: product}, or a time or a date
//   product   unary {(* / or nothing) unary}, and units
//   unary     {+ -} power
//   power     primary {^ exponent, ! % degree}
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/answers/internal/letters.h"
#include "libs/answers/internal/parser.h"

namespace cohort::answers {

class Grammar {
 public:
  /// Letters among `variables` are variables and no units, and those among `factors` no functions.
  Grammar(std::vector<Token> tokens, const Names& variables, const Names& factors);

  /// The whole text. Throws ParseFailure and TreeLimit.
  Expression parse_all();

 private:
  // grammar.cpp: operators.
  NodeId list();
  NodeId relation();
  NodeId congruence(NodeId left, NodeId right);
  NodeId exact_part(std::string letters, std::vector<NodeId> operands);
  NodeId sets();
  NodeId sum();
  NodeId product();
  bool is_vector(NodeId id) const;
  bool is_restatement() const;
  NodeId restated(NodeId value);
  NodeId unary();
  NodeId power();
  NodeId raised(NodeId base);
  NodeId percent(NodeId value);
  std::string parts_of_one();
  NodeId exponent();
  bool take_degree_sign();
  bool take_ordinal();

  // lists.cpp: what commas, "and" and "or" join.
  bool is_condition_in_brackets() const;
  NodeId joined(std::vector<NodeId> items, const std::vector<std::string>& connectors);
  NodeId logic(std::vector<NodeId> items, const std::vector<std::string>& connectors);
  std::optional<std::string> assigned_name(NodeId item) const;
  bool are_assignments(const std::vector<NodeId>& items) const;
  std::vector<std::vector<NodeId>> find_groups(const std::vector<NodeId>& items,
                                               const std::vector<std::string>& connectors) const;
  NodeId set_builder(NodeId head, NodeId condition);
  std::optional<NodeId> integers_between(NodeId variable, bool is_natural, NodeId condition);
  std::optional<int64_t> small_integer(NodeId id) const;
  NodeId integer(int64_t value);
  void fill_range(std::vector<NodeId>& items, size_t gap);

  // quantities.cpp: units, times, dates, ratios.
  NodeId ratio();
  std::optional<NodeId> time_of_day();
  std::optional<NodeId> calendar_date();
  NodeId divisor(NodeId left);
  NodeId measured_sum(NodeId value);
  NodeId measured(NodeId value);
  bool is_next_smaller(NodeId term, const std::string& name) const;
  NodeId with_minutes(NodeId degrees);
  NodeId currency(std::string_view name);
  bool ends_value(size_t offset) const;
  bool ends_measure() const;
  bool take_number_name(NodeId value);

  // names.cpp: letters that are no variables.
  NodeId symbol();
  NodeId words();
  NodeId function_value();
  std::optional<NodeId> combinations(const std::string& name);
  std::optional<std::string> probability();
  std::optional<NodeId> named_point();
  std::optional<NodeId> derivative();
  NodeId angle(std::string_view kind);
  NodeId accented(std::string_view accent);
  NodeId number_set();
  NodeId set_of_numbers(NodeId set);
  std::string subscript();
  std::string take_group_text();
  std::string group_text(size_t& offset) const;
  std::string definition_name();

  // operands.cpp: what operators join.
  NodeId primary();
  NodeId number();
  NodeId punctuation();
  NodeId structure();
  NodeId call();
  NodeId call_argument();
  NodeId brace_group();
  NodeId bracketed();
  NodeId set_braces();
  NodeId absolute_value();

  // notation.cpp: LaTeX commands with arguments.
  NodeId fraction();
  NodeId square_root();
  NodeId binomial();
  NodeId rounded(std::string_view name, std::string_view close);
  NodeId matrix();
  NodeId negated(NodeId value);
  NodeId summed(std::vector<NodeId> terms);
  bool has_matrix(NodeId id) const;
  NodeId scaled_matrix(std::vector<NodeId> factors);
  NodeId tex_argument();
  NodeId plain_number();
  bool mixed_fraction_follows() const;
  NodeId scientific(const std::string& text);
  std::optional<NodeId> repeating(const std::string& text);
  NodeId based(const std::string& digits);
  NodeId in_base(const std::string& digits, const std::string& base);
  std::optional<std::string> digit_argument(size_t& offset) const;

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
  const Names& factors_;
  size_t position_ = 0;
  Tree tree_;
  int nesting_ = 0;
  int num_open_bars_ = 0;        // | that wait for their partner, in this bracket
  bool is_in_set_ = false;       // right inside \{ \}, where | and : introduce a condition
  bool is_after_comma_ = false;  // in a bracket where [ closes an interval
};

}  // namespace cohort::answers
