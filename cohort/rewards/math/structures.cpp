#include "cohort/rewards/math/structures.h"

#include <map>

#include "cohort/rewards/math/real_sets.h"
#include "cohort/rewards/math/relations.h"

namespace cohort::math {
namespace {

constexpr size_t kMaxElements = 64;

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

// What an answer says, without the name in front: x = 5 is 5, x in S is S.
Item strip(const Item& item, Work& work) {
  if (item.is(Kind::kMember) && item.child(0).is(Kind::kSymbol)) return item.child(1);
  if (!is_relation(item)) return item;
  if (const std::optional<Definition> definition = find_definition(item, work)) return definition->value;
  return find_statement_value(item, work).value_or(item);
}

// The definitions of a list such as x = 1, y = 2 by name; empty where an item is none or a name comes twice.
std::map<std::string, Item> find_definitions(const Item& item, Work& work) {
  std::map<std::string, Item> definitions;
  if (!item.is(Kind::kList) || item.size() > kMaxElements) return {};
  for (size_t i = 0; i < item.size(); ++i) {
    const std::optional<Definition> definition = find_definition(item.child(i), work);
    if (!definition || !definitions.emplace(definition->name, definition->value).second) return {};
  }
  return definitions;
}

std::vector<Item> elements_of(const Item& item) {
  std::vector<Item> elements;
  if (is_named_set(item)) return elements;
  if (!is_collection(item)) return {item};
  for (size_t i = 0; i < item.size(); ++i) elements.push_back(item.child(i));
  return elements;
}

// Both in order.
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

// Has every element of `a` its like in `b`? In a list each takes one of its own.
Verdict find_all(const std::vector<Item>& a, const std::vector<Item>& b, bool is_list, Work& work) {
  std::vector<bool> is_used(b.size(), false);
  Verdict result = equal("the same elements");
  for (const Item& element : a) {
    Verdict best = unequal("an element without its like");
    for (size_t i = 0; i < b.size() && !best.is_equal(); ++i) {
      if (is_list && is_used[i]) continue;
      const Verdict verdict = compare(element, b[i], work);
      if (!verdict.is_unequal()) best = verdict;
      if (verdict.is_equal()) is_used[i] = true;
    }
    if (best.is_unequal()) return best;
    if (!best.is_equal()) result = best;
  }
  return result;
}

Verdict compare_collections(const Item& a, const Item& b, Work& work) {
  const std::vector<Item> elements_a = elements_of(a), elements_b = elements_of(b);
  if (elements_a.size() > kMaxElements || elements_b.size() > kMaxElements)
    return undecided("too many elements");
  const bool are_lists = !a.is(Kind::kSet) && !b.is(Kind::kSet);
  if (are_lists && elements_a.size() != elements_b.size()) return unequal("different numbers of elements");
  const Verdict forth = find_all(elements_a, elements_b, are_lists, work);
  if (forth.is_unequal()) return forth;
  const Verdict back = find_all(elements_b, elements_a, are_lists, work);
  return back.is_equal() ? forth : back;
}

Verdict compare_definitions(const std::map<std::string, Item>& a, const std::map<std::string, Item>& b,
                            Work& work) {
  std::vector<Item> values_a, values_b;
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return unequal("different names");
    values_a.push_back(value);
    values_b.push_back(other->second);
  }
  if (a.size() != b.size()) return unequal("different numbers of names");
  return compare_sequences(values_a, values_b, work);
}

std::vector<Item> children_of(const Item& item) {
  std::vector<Item> children;
  for (size_t i = 0; i < item.size(); ++i) children.push_back(item.child(i));
  return children;
}

// x = 1, y = 2 against a point or another list without names: in the order of the names.
Verdict compare_with_names(const std::map<std::string, Item>& named, const Item& other, Work& work) {
  if (!other.is(Kind::kTuple) && !other.is(Kind::kList)) return unequal("named values and another structure");
  std::vector<Item> values;
  for (const auto& [name, value] : named) values.push_back(value);
  return compare_sequences(values, children_of(other), work);
}

Verdict compare_tuples(const Item& a, const Item& b, Work& work) {
  if (a.node().text != b.node().text) return unequal("different brackets");
  return compare_sequences(children_of(a), children_of(b), work);
}

Verdict compare_structures(const Item& a, const Item& b, Work& work) {
  const auto named_a = find_definitions(a, work), named_b = find_definitions(b, work);
  if (named_a.size() > 1 && named_b.size() > 1) return compare_definitions(named_a, named_b, work);
  if (named_a.size() > 1) return compare_with_names(named_a, b, work);
  if (named_b.size() > 1) return compare_with_names(named_b, a, work);
  if (is_collection(a) || is_collection(b)) return compare_collections(a, b, work);
  if (a.is(Kind::kTuple) && b.is(Kind::kTuple)) return compare_tuples(a, b, work);
  if (a.is(Kind::kMatrix) && b.is(Kind::kMatrix))
    return compare_sequences(children_of(a), children_of(b), work);
  const auto is_structure = [](const Item& item) {
    return item.is(Kind::kTuple) || item.is(Kind::kMatrix) || item.is(Kind::kRelation) || is_real_set(item);
  };
  if (is_structure(a) || is_structure(b)) return unequal("different kinds of answers");
  return compare_scalars(a, b, work);
}

}  // namespace

Verdict compare(const Item& a, const Item& b, Work& work) {
  if (!work.spend(count_nodes(a) + count_nodes(b))) return undecided("too much work");
  if (is_same_tree(a, b)) return equal("written alike");
  if (is_relation(a) && is_relation(b)) {
    const auto definition_a = find_definition(a, work), definition_b = find_definition(b, work);
    const bool has_same_name = definition_a && definition_b && definition_a->name == definition_b->name;
    if (!has_same_name) return compare_relations(a, b, work);
    return compare(definition_a->value, definition_b->value, work);
  }
  const Item bare_a = strip(a, work), bare_b = strip(b, work);
  if ((is_real_set(bare_a) || is_real_set(bare_b)) && is_interval_like(bare_a) && is_interval_like(bare_b)) {
    return compare_real_sets(bare_a, bare_b, work);
  }
  return compare_structures(bare_a, bare_b, work);
}

}  // namespace cohort::math
