// A language that constrains what a model writes: states, edges over bytes and special tokens, and rules that
// call one another, so that values may nest.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "libs/common/unicode.h"

namespace cohort {

/// A byte, or kFirstSpecial + the id of a special token.
using Symbol = int32_t;
constexpr Symbol kFirstSpecial = 256;

/// Grows by construction alone: every function adds paths from one state to another.
class Grammar {
 public:
  using State = int32_t;
  using Rule = int32_t;

  struct Edge {
    Symbol first;
    Symbol last;  ///< inclusive
    State to;
  };
  struct Call {
    Rule rule;
    State to;
  };
  struct Node {
    std::vector<Edge> edges{};
    std::vector<State> skips{};
    std::vector<Call> calls{};
  };
  struct Ends {
    State begin;
    State end;
  };

  /// Rule 0 is the language itself.
  Grammar() { add_rule(); }

  /// Throws UserError if the language needs too many.
  State add_state();
  Rule add_rule();

  State begin(Rule rule) const { return rules_[rule].begin; }
  State end(Rule rule) const { return rules_[rule].end; }

  void add_skip(State from, State to) { nodes_[from].skips.push_back(to); }
  void add_call(State from, Rule rule, State to) { nodes_[from].calls.push_back({rule, to}); }
  void add_symbols(State from, Symbol first, Symbol last, State to) {
    nodes_[from].edges.push_back({first, last, to});
  }
  void add_special(State from, int32_t token_id, State to) {
    add_symbols(from, kFirstSpecial + token_id, kFirstSpecial + token_id, to);
  }

  /// The bytes of a text, one after another.
  void add_text(State from, std::string_view text, State to);

  /// One code point of a set, as UTF-8.
  void add_code_point(State from, const CodePointSet& set, State to);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Ends>& rules() const { return rules_; }

 private:
  void add_code_points(State from, CodePointRange range, State to);

  std::vector<Node> nodes_;
  std::vector<Ends> rules_;
};

}  // namespace cohort
