// Regular expressions as languages: what Python's `re` and ECMA-262 have in common.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "cohort/text/grammar/grammar.h"

namespace cohort {

struct RegexNode {
  enum class Kind { kSet, kSequence, kAlternatives, kRepeat };
  static constexpr int64_t kUnlimited = -1;

  Kind kind = Kind::kSequence;
  CodePointSet set{};
  std::vector<RegexNode> children{};
  int64_t min = 1;
  int64_t max = 1;
};

/// One alternative of the whole expression.
struct RegexBranch {
  RegexNode node{};
  bool is_anchored_at_begin = false;
  bool is_anchored_at_end = false;
};

/// Has characters, classes (\d, \w and \s are ASCII), groups, alternatives, repetitions of at most 1,000
/// times, and ^ and $ at the ends. Throws UserError naming the place of anything else: lookaround,
/// back-references, word boundaries, flags.
std::vector<RegexBranch> parse_regex(std::string_view pattern);

/// How one code point of a set is written.
using WriteCodePoint =
    std::function<void(Grammar& grammar, Grammar::State from, const CodePointSet& set, Grammar::State to)>;

/// Paths for all texts that match the whole expression.
void add_regex(Grammar& grammar, Grammar::State from, std::string_view pattern, Grammar::State to);

/// Paths for all texts in which the expression is found, written by `write`; `any` is the set of characters
/// around it.
void add_regex_search(Grammar& grammar, Grammar::State from, std::string_view pattern, Grammar::State to,
                      const WriteCodePoint& write, const CodePointSet& any);

}  // namespace cohort
