#include "libs/answers/internal/structures.h"

#include "libs/answers/internal/abstract_sets.h"
#include "libs/answers/internal/connectives.h"
#include "libs/answers/internal/matching.h"
#include "libs/answers/internal/named_values.h"
#include "libs/answers/internal/real_sets.h"
#include "libs/answers/internal/relations.h"
#include "libs/answers/internal/times.h"

namespace cohort::answers {
namespace {

bool is_relation(const Item& item) { return item.is(Kind::kRelation); }

bool is_named_set(const Item& item) {
  return item.is(Kind::kSymbol) && (item.node().text == "reals" || item.node().text == "empty set");
}

bool is_collection(const Item& item) {
  return item.is(Kind::kList) || item.is(Kind::kSet) ||
         (is_named_set(item) && item.node().text == "empty set");
}

bool is_interval_like(const Item& item) {
  return is_real_set(item) || is_collection(item) || (item.is(Kind::kTuple) && item.size() == 2);
}

bool are_equal_alternatives(const Item& item, Work& work) {
  if (!item.is(Kind::kList) || item.node().text != "or") return false;
  for (size_t i = 1; i < item.size(); ++i) {
    if (!compare(item.child(0), item.child(i), work).is_equal()) return false;
  }
  return true;
}

// What an answer says, without the name in front: x = 5 is 5, f(2) = 5 too, x in S and (x, y) in S are S.
// Names of a tuple of values stay, since they say which is which. One value or another spelling of it is one.
Item strip(const Item& item, Work& work) {
  if (are_equal_alternatives(item, work)) return strip(item.child(0), work);
  if (item.is(Kind::kMember)) {
    const std::optional<std::string> names = find_names(item.child(0));
    return names && !are_out_of_order(*names) ? item.child(1) : item;
  }
  if (!is_relation(item)) return item;
  if (const std::optional<Definition> definition = find_definition(item, work)) {
    const bool is_turned = definition->value.is(Kind::kTuple) && are_out_of_order(definition->name);
    return is_turned || !find_named_values(item, work).empty() ? item : definition->value;
  }
  if (const std::optional<Item> value = find_value_of_quantity(item, work)) return *value;
  return find_statement_value(item, work).value_or(item);
}

bool has_inner_matrix(const Item& item) {
  for (size_t i = 0; i < item.size(); ++i) {
    if (item.child(i).is(Kind::kMatrix) || has_inner_matrix(item.child(i))) return true;
  }
  return false;
}

// x = k pi of x = k pi, k in Z: the letter is taken for an integer anyway.
Item without_integers(const Item& item) {
  if (!item.is(Kind::kList) || item.size() != 2 || item.node().text == "or") return item;
  const Item value = item.child(0), condition = item.child(1);
  if (!condition.is(Kind::kMember) || !condition.child(0).is(Kind::kSymbol) ||
      !condition.child(1).is(Kind::kSymbol) || condition.child(1).node().text != "mathbb Z")
    return item;
  const std::string& name = condition.child(0).node().text;
  const bool is_integer_letter = name == "k" || name == "n" || name == "m";
  const bool is_equation = is_relation(value) && value.node().text == "=" &&
                           value.child(0).is(Kind::kSymbol) && value.child(0).node().text != name;
  const bool is_value = is_equation || (!is_relation(value) && !value.is(Kind::kMember));
  return is_integer_letter && is_value && contains_symbol(value, name) ? value : item;
}

// Tuples of names, of which one holds another name or another order.
bool have_other_names(const Item& a, const Item& b) {
  const std::optional<std::string> names_a = find_names(a), names_b = find_names(b);
  return names_a && names_b && a.is(Kind::kTuple) && b.is(Kind::kTuple) && *names_a != *names_b;
}

// Sets of which we know no more than how they are written.
std::optional<Verdict> compare_opaque_sets(const Item& a, const Item& b, Work& work) {
  if (const std::optional<Verdict> verdict = compare_abstract_sets(a, b)) return verdict;
  const auto is_image = [](const Item& item) {
    return item.is(Kind::kSetBuilder) && item.node().text == "image";
  };
  if (!is_image(a) && !is_image(b)) return std::nullopt;
  if (is_image(a) && is_image(b) && compare(a.child(0), b.child(0), work).is_equal() &&
      compare(a.child(1), b.child(1), work).is_equal())
    return equal("the same condition and the same elements");
  return undecided("a set of the values of an expression");
}

std::vector<Item> elements_of(const Item& item) {
  std::vector<Item> elements;
  if (is_named_set(item)) return elements;
  if (!is_collection(item)) return {item};
  for (size_t i = 0; i < item.size(); ++i) elements.push_back(item.child(i));
  return elements;
}

bool is_logic(const Item& item) {
  return item.is(Kind::kList) && (item.node().text == "land" || item.node().text == "lor");
}

Verdict compare_collections(const Item& a, const Item& b, Work& work) {
  if ((is_logic(a) || is_logic(b)) && a.node().text != b.node().text) return unequal("different connectives");
  const bool are_lists = !a.is(Kind::kSet) && !b.is(Kind::kSet);
  return compare_unordered(elements_of(a), elements_of(b), are_lists, work);
}

Verdict compare_tuples(const Item& a, const Item& b, Work& work) {
  if (a.node().text != b.node().text) return unequal("different brackets");
  return compare_sequences(children_of(a), children_of(b), work);
}

Verdict compare_structures(const Item& a, const Item& b, Work& work) {
  if (const std::optional<Verdict> verdict = compare_connectives(a, b)) return *verdict;
  const NamedValues named_a = find_named_values(a, work), named_b = find_named_values(b, work);
  if (!named_a.empty() && !named_b.empty()) return compare_named_values(named_a, named_b, work);
  if (!named_a.empty()) return compare_with_unnamed(named_a, b, work);
  if (!named_b.empty()) return compare_with_unnamed(named_b, a, work);
  if (is_collection(a) || is_collection(b)) return compare_collections(a, b, work);
  if (a.is(Kind::kTuple) && b.is(Kind::kTuple)) return compare_tuples(a, b, work);
  if (a.is(Kind::kMatrix) && b.is(Kind::kMatrix))
    return compare_sequences(children_of(a), children_of(b), work);
  if (a.is(Kind::kRatio) && b.is(Kind::kRatio)) return compare_ratios(a, b, work);
  const auto is_structure = [](const Item& item) {
    return item.is(Kind::kTuple) || item.is(Kind::kMatrix) || item.is(Kind::kRelation) ||
           item.is(Kind::kRatio) || is_real_set(item);
  };
  if (is_structure(a) != is_structure(b) && has_inner_matrix(is_structure(a) ? b : a))
    return undecided("an expression of matrices");
  if (is_structure(a) || is_structure(b)) return unequal("different kinds of answers");
  return compare_scalars(a, b, work);
}

}  // namespace

std::vector<Item> children_of(const Item& item) {
  std::vector<Item> children;
  children.reserve(item.size());
  for (size_t i = 0; i < item.size(); ++i) children.push_back(item.child(i));
  return children;
}

Verdict compare_sequences(const std::vector<Item>& a, const std::vector<Item>& b, Work& work) {
  if (a.size() != b.size()) return unequal("different numbers of elements");
  Verdict result = equal("all elements are equal");
  for (size_t i = 0; i < a.size(); ++i) {
    const Verdict verdict = compare(a[i], b[i], work);
    if (verdict.is_unequal()) return unequal("element " + std::to_string(i + 1) + ": " + verdict.reason);
    if (!verdict.is_equal()) result = verdict;
  }
  return result;
}

Verdict compare(const Item& a, const Item& b, Work& work) {
  if (!work.spend(count_nodes(a) + count_nodes(b))) return undecided("too much work");
  if (is_same_tree(a, b)) return equal("written alike");
  const Item plain_a = without_integers(a), plain_b = without_integers(b);
  if (plain_a.id != a.id || plain_b.id != b.id) return compare(plain_a, plain_b, work);
  if (is_relation(a) && is_relation(b)) {
    const NamedValues named_a = find_named_values(a, work), named_b = find_named_values(b, work);
    if (!named_a.empty() && !named_b.empty()) return compare_named_values(named_a, named_b, work);
    const auto definition_a = find_definition(a, work), definition_b = find_definition(b, work);
    const bool are_definitions = definition_a && definition_b;
    const bool has_same_name =
        are_definitions && (definition_a->name == definition_b->name ||
                            is_same_function_name(definition_a->name, definition_b->name));
    if (!has_same_name && are_definitions && definition_a->value.is(Kind::kTuple) &&
        definition_b->value.is(Kind::kTuple))
      return unequal("different names");
    if (!has_same_name) return compare_relations(a, b, work);
    return compare(definition_a->value, definition_b->value, work);
  }
  if (a.is(Kind::kMember) && b.is(Kind::kMember) && have_other_names(a.child(0), b.child(0)))
    return unequal("different names");
  const Item bare_a = strip(a, work), bare_b = strip(b, work);
  if (const std::optional<Verdict> verdict = compare_calendar(bare_a, bare_b)) return *verdict;
  if (const std::optional<Verdict> verdict = compare_opaque_sets(bare_a, bare_b, work)) return *verdict;
  if ((is_real_set(bare_a) || is_real_set(bare_b)) && is_interval_like(bare_a) && is_interval_like(bare_b)) {
    const Verdict verdict = compare_real_sets(bare_a, bare_b, work);
    const bool are_lists = bare_a.is(Kind::kList) && bare_b.is(Kind::kList);
    if (verdict.outcome != Outcome::kUndecided || !are_lists) return verdict;
  }
  return compare_structures(bare_a, bare_b, work);
}

}  // namespace cohort::answers
