#include "libs/answers/internal/relations.h"

#include <algorithm>

#include "libs/answers/internal/exact.h"
#include "libs/answers/internal/letters.h"
#include "libs/answers/internal/real_sets.h"
#include "libs/answers/internal/structures.h"

namespace cohort::answers {
namespace {

bool is_equation(const Item& item) {
  return item.is(Kind::kRelation) && item.node().text.find_first_not_of('=') == std::string::npos;
}

bool shares_symbol(const Item& names, const Item& other) {
  if (names.is(Kind::kSymbol)) return contains_symbol(other, names.node().text);
  for (size_t i = 0; i < names.size(); ++i) {
    if (contains_symbol(other, names.child(i).node().text)) return true;
  }
  return false;
}

bool has_variable(const Item& item) {
  if (is_variable(item)) return true;
  for (size_t i = 0; i < item.size(); ++i) {
    if (has_variable(item.child(i))) return true;
  }
  return false;
}

bool has_unknown_function(const Item& item) {
  if (item.is(Kind::kCall) && is_unknown_function(item.node().text)) return true;
  for (size_t i = 0; i < item.size(); ++i) {
    if (has_unknown_function(item.child(i))) return true;
  }
  return false;
}

// Do the sides from `first` on agree? Where the last is a constant, formulas on the way to it are passed
// over, as in A = \pi r^2 = 25 \pi.
bool sides_agree(const Item& relation, size_t first, Work& work) {
  const Item last = relation.child(relation.size() - 1);
  const bool is_constant = !has_variable(last) && !has_unknown_function(last);
  for (size_t i = first; i + 1 < relation.size(); ++i) {
    const Item side = relation.child(i);
    if (is_constant && (has_variable(side) || has_unknown_function(side))) continue;
    if (!compare(side, last, work).is_equal()) return false;
  }
  return true;
}

// What an answer may be the value of: letters, their sums, products and quotients, sin A, |z|, f(2).
bool is_quantity(const Item& item) {
  switch (item.node().kind) {
    case Kind::kSymbol:
      return is_variable(item);
    case Kind::kCall: {
      if (is_unknown_function(item.node().text)) return item.node().text != "cross";
      for (const char* name : {"sin", "cos", "tan", "cot", "sec", "csc", "abs"}) {
        if (item.node().text == name) return is_quantity(item.child(0));
      }
      return false;
    }
    case Kind::kAdd:
    case Kind::kMultiply:
    case Kind::kDivide:
      break;
    default:
      return false;
  }
  for (size_t i = 0; i < item.size(); ++i) {
    const bool is_subtracted = item.is(Kind::kAdd) && i > 0 && item.child(i).is(Kind::kNegate);
    if (!is_quantity(is_subtracted ? item.child(i).child(0) : item.child(i))) return false;
  }
  return true;
}

bool is_congruence(const Item& item) { return item.node().text == "m"; }

// x = 2 modulo 5: the same unknown, the same modulus, the same residue.
Verdict compare_congruences(const Item& a, const Item& b, Work& work) {
  if (is_congruence(a) != is_congruence(b)) return unequal("a congruence and another relation");
  for (size_t part : {0, 2}) {
    const Verdict verdict = compare(a.child(part), b.child(part), work);
    if (!verdict.is_equal()) return verdict;
  }
  const ExactValue modulus = evaluate_exactly(*a.tree, a.child(2).id);
  const ExactValue residue_a = evaluate_exactly(*a.tree, a.child(1).id),
                   residue_b = evaluate_exactly(*b.tree, b.child(1).id);
  if (!modulus.is_ok() || !residue_a.is_ok() || !residue_b.is_ok() || modulus.value.is_zero())
    return compare(a.child(1), b.child(1), work);
  const bool is_same = ((residue_a.value - residue_b.value) / modulus.value).is_integer();
  return is_same ? equal("the same residue") : unequal("different residues");
}

// An inequality of two sides turned so that it reads left < right.
Sides turned(const Item& item) {
  const char letter = item.node().text[0];
  if (letter == '>' || letter == 'g') return {item.child(1), item.child(0)};
  return {item.child(0), item.child(1)};
}

bool is_strict(const Item& item) { return item.node().text == "<" || item.node().text == ">"; }

}  // namespace

std::optional<std::string> find_names(const Item& item) {
  if (is_variable(item)) return item.node().text;
  if (!item.is(Kind::kTuple)) return std::nullopt;
  std::string names;
  for (size_t i = 0; i < item.size(); ++i) {
    if (!is_variable(item.child(i))) return std::nullopt;
    names += item.child(i).node().text + ",";
  }
  return names;
}

std::optional<Definition> find_definition(const Item& relation, Work& work) {
  if (!is_equation(relation)) return std::nullopt;
  const Item first = relation.child(0), last = relation.child(relation.size() - 1);
  // e and i are names where they stand alone on the left: the eccentricity, a current.
  const bool is_letter = first.is(Kind::kSymbol) && (first.node().text == "e" || first.node().text == "i");
  const std::optional<std::string> first_name = is_letter ? first.node().text : find_names(first),
                                   last_name = find_names(last);
  if (first_name && !shares_symbol(first, last)) {
    if (!sides_agree(relation, 1, work)) return std::nullopt;
    return Definition{*first_name, last};
  }
  if (!last_name || relation.size() != 2 || shares_symbol(last, first)) return std::nullopt;
  return Definition{*last_name, first};
}

bool is_same_function_name(const std::string& a, const std::string& b) {
  const auto is_function_of_x = [](const std::string& name) {
    return name.size() == 4 && name.ends_with("(x)");
  };
  return (a == "y" && is_function_of_x(b)) || (b == "y" && is_function_of_x(a));
}

std::optional<Item> find_value_of_quantity(const Item& relation, Work& work) {
  if (!is_equation(relation)) return std::nullopt;
  const Item first = relation.child(0), last = relation.child(relation.size() - 1);
  if (is_quantity(first) && !has_variable(last) && !has_unknown_function(last))
    return sides_agree(relation, 1, work) ? std::optional<Item>(last) : std::nullopt;
  if (relation.size() == 2 && is_quantity(last) && !has_variable(first) && !has_unknown_function(first))
    return first;
  return std::nullopt;
}

std::optional<Item> find_statement_value(const Item& relation, Work& work) {
  if (!is_equation(relation) || has_variable(relation) || has_unknown_function(relation) ||
      !sides_agree(relation, 0, work))
    return std::nullopt;
  return relation.child(relation.size() - 1);
}

Verdict compare_relations(const Item& a, const Item& b, Work& work) {
  if (is_same_tree(a, b)) return equal("written alike");
  if (is_congruence(a) || is_congruence(b)) return compare_congruences(a, b, work);
  const bool are_equations = is_equation(a) && is_equation(b);
  if (is_equation(a) != is_equation(b)) return unequal("an equation and an inequality");
  if (a.size() != 2 || b.size() != 2) {
    return are_equations ? undecided("chains of equations") : compare_real_sets(a, b, work);
  }
  if (!are_equations) {
    Verdict as_sets = compare_real_sets(a, b, work);
    if (as_sets.outcome != Outcome::kUndecided) return as_sets;
    if ((a.node().text == "n") != (b.node().text == "n")) return unequal("different relations");
    if (a.node().text != "n" && is_strict(a) != is_strict(b)) return unequal("one inequality is strict");
  }
  if (a.child(0).is(Kind::kTuple) && b.child(0).is(Kind::kTuple)) {
    Verdict left = compare(a.child(0), b.child(0), work);
    return left.is_equal() ? compare(a.child(1), b.child(1), work) : left;
  }
  const bool are_constant = !has_variable(a) && !has_variable(b) && !has_unknown_function(a);
  if (are_constant) {  // statements, of which false ones are multiples of each other for nothing
    const Verdict left = compare(a.child(0), b.child(0), work);
    return left.is_equal() ? compare(a.child(1), b.child(1), work) : left;
  }
  bool is_positive = false;
  Verdict verdict = compare_proportional(turned(a), turned(b), is_positive, work);
  const bool needs_sign = !are_equations && a.node().text != "n";
  if (verdict.is_equal() && needs_sign && !is_positive) return unequal("opposite inequalities");
  return verdict;
}

}  // namespace cohort::answers
