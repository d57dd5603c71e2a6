#include "libs/answers/internal/named_values.h"

#include <algorithm>
#include <set>

#include "libs/answers/internal/connectives.h"
#include "libs/answers/internal/matching.h"
#include "libs/answers/internal/relations.h"
#include "libs/answers/internal/structures.h"

namespace cohort::answers {
namespace {

constexpr size_t kMaxElements = 64;

std::vector<std::string> names_of(const NamedValues& named) {
  std::vector<std::string> names;
  for (const auto& [name, value] : named) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

constexpr std::string_view kRows[] = {"x,y,z,w,", "a,b,c,d,e,f,g,h,"};

// The first names of a row that has an order, where `names` are these; empty for others.
std::vector<std::string> in_order(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  for (std::string_view row : kRows) {
    std::vector<std::string> first;
    for (size_t i = 0; i < names.size() && 2 * i < row.size(); ++i) first.emplace_back(1, row[2 * i]);
    std::vector<std::string> sorted = first;
    std::sort(sorted.begin(), sorted.end());
    if (names == sorted) return first;
  }
  return {};
}

bool have_order(const NamedValues& named) { return !in_order(names_of(named)).empty(); }

// x_1, x_2, ...: the same letter with different numbers.
bool are_indexed(const NamedValues& named) {
  const std::string stem = named[0].first.substr(0, named[0].first.find('_') + 1);
  return stem.size() > 1 && std::all_of(named.begin(), named.end(), [&](const auto& entry) {
           return entry.first.starts_with(stem) && entry.first.size() > stem.size() &&
                  entry.first.find_first_not_of("0123456789", stem.size()) == std::string::npos;
         });
}

// Does the list give values to names other than `stem`?
bool has_other_names(const Item& list, const std::string& stem, Work& work) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list.child(i).is(Kind::kRelation)) continue;
    const std::optional<Definition> definition = find_definition(list.child(i), work);
    if (!definition || definition->name != stem) return true;
  }
  return false;
}

std::vector<Item> values_in_order(NamedValues named) {
  // w comes behind z.
  const auto key = [](const std::string& name) { return name == "w" ? std::string("zz") : name; };
  if (have_order(named) || are_indexed(named)) {
    std::stable_sort(named.begin(), named.end(), [&](const auto& a, const auto& b) {
      if (a.first.size() != b.first.size()) return a.first.size() < b.first.size();
      return key(a.first) < key(b.first);
    });
  }
  std::vector<Item> values;
  for (const auto& [name, value] : named) values.push_back(value);
  return values;
}

// Neighbours in the alphabet that do not come in its order, such as n, m: nobody can say which is first.
bool are_against_alphabet(const NamedValues& named) {
  std::string letters;
  for (const auto& [name, value] : named) {
    if (name.size() != 1) return false;
    letters += name;
  }
  std::string sorted = letters;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] != sorted[i - 1] + 1) return false;
  }
  return sorted != letters;
}

std::vector<std::string> separated(std::string_view names) {
  std::vector<std::string> separate;
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = names.find(',', begin);
    separate.emplace_back(names.substr(begin, end - begin));
    begin = end == std::string_view::npos ? names.size() : end + 1;
  }
  return separate;
}

// (m, n) = (3, 4).
NamedValues find_named_tuple(const Item& relation, Work& work) {
  const std::optional<Definition> definition = find_definition(relation, work);
  if (!definition || !definition->name.ends_with(',') || !definition->value.is(Kind::kTuple) ||
      definition->value.node().text != "()")
    return {};
  const std::vector<std::string> names = separated(definition->name);
  if (names.size() != definition->value.size() ||
      std::set<std::string>(names.begin(), names.end()).size() != names.size())
    return {};
  NamedValues named;
  for (size_t i = 0; i < names.size(); ++i) named.emplace_back(names[i], definition->value.child(i));
  return named;
}

}  // namespace

bool are_out_of_order(std::string_view names) {
  const std::vector<std::string> separate = separated(names);
  const std::vector<std::string> ordered = in_order(separate);
  return !ordered.empty() && ordered != separate;
}

NamedValues find_named_values(const Item& item, Work& work) {
  if (item.is(Kind::kRelation)) return find_named_tuple(item, work);
  NamedValues named;
  if (!item.is(Kind::kList) || item.size() > kMaxElements || has_alternative_names(item)) return {};
  for (size_t i = 0; i < item.size(); ++i) {
    const std::optional<Definition> definition = find_definition(item.child(i), work);
    if (!definition) return {};
    for (const auto& [name, value] : named) {
      if (name == definition->name) return {};
    }
    named.emplace_back(definition->name, definition->value);
  }
  return named.size() > 1 ? named : NamedValues();
}

Verdict compare_named_values(const NamedValues& a, const NamedValues& b, Work& work) {
  if (names_of(a) != names_of(b)) return unequal("different names");
  std::vector<Item> values_a, values_b;
  for (const auto& [name, value] : a) {
    values_a.push_back(value);
    for (const auto& [other, other_value] : b) {
      if (other == name) values_b.push_back(other_value);
    }
  }
  return compare_sequences(values_a, values_b, work);
}

Verdict compare_with_unnamed(const NamedValues& named, const Item& other, Work& work) {
  const bool is_collection = other.is(Kind::kList) || other.is(Kind::kSet);
  if (is_collection && other.size() == 1) return compare_with_unnamed(named, other.child(0), work);
  if (!is_collection && !other.is(Kind::kTuple)) return unequal("named values and another structure");
  if (!have_order(named) && are_against_alphabet(named))
    return unequal("names in no order that is agreed on");
  const std::vector<Item> values = values_in_order(named);
  if (other.is(Kind::kTuple)) {
    if (other.node().text != "()") return unequal("named values and an interval");
    return compare_sequences(values, children_of(other), work);
  }
  const bool is_set = other.is(Kind::kSet);
  if (are_indexed(named) && has_other_names(other, named[0].first.substr(0, named[0].first.find('_')), work))
    return unequal("different names");
  if (are_indexed(named)) return compare_unordered(values, children_of(other), !is_set, work);
  if (is_set) return unequal("named values and a set");
  return compare_sequences(values, children_of(other), work);
}

}  // namespace cohort::answers
