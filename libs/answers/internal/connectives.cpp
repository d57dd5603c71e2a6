#include "libs/answers/internal/connectives.h"

#include <algorithm>
#include <string>

namespace cohort::answers {
namespace {

// kEither: the solutions of one unknown, which "and", "or" and commas join alike.
enum class Connective { kNone, kEither, kAnd, kOr };

bool is_condition(const Item& item) {
  if (item.is(Kind::kRelation) || item.is(Kind::kMember)) return true;
  if (!item.is(Kind::kList)) return false;
  for (size_t i = 0; i < item.size(); ++i) {
    if (!is_condition(item.child(i))) return false;
  }
  return true;
}

// x of x_1.
std::string without_index(const std::string& name) {
  const size_t end = name.find('_');
  const bool is_index = end != std::string::npos && end + 1 < name.size() &&
                        name.find_first_not_of("0123456789", end + 1) == std::string::npos;
  return is_index ? name.substr(0, end) : name;
}

// The name or names that a condition is about; empty where none stands for itself.
std::string subject_of(const Item& item) {
  std::string names;
  if (item.is(Kind::kList) || item.is(Kind::kTuple)) {
    for (size_t i = 0; i < item.size(); ++i) {
      const Item part = item.child(i);
      const std::string name = item.is(Kind::kList) ? subject_of(part)
                               : is_variable(part)  ? part.node().text
                                                    : "";
      if (name.empty()) return {};
      names += name + ",";
    }
    return names;
  }
  if (item.is(Kind::kMember)) {
    const Item left = item.child(0);
    return is_variable(left) ? without_index(left.node().text) : subject_of(left);
  }
  if (!item.is(Kind::kRelation)) return {};
  for (size_t i = 0; i < item.size(); ++i) {
    const Item side = item.child(i);
    if (is_variable(side)) return without_index(side.node().text);
    if (side.is(Kind::kTuple)) return subject_of(side);
  }
  return {};
}

bool have_one_subject(const Item& list) {
  const std::string first = subject_of(list.child(0));
  if (first.empty()) return false;
  for (size_t i = 1; i < list.size(); ++i) {
    if (subject_of(list.child(i)) != first) return false;
  }
  return true;
}

// Do variables stand in it that are no numbers of a solution, as k in 2k * pi?
bool has_variables(const Item& item) {
  if (is_variable(item)) {
    const std::string& name = item.node().text;
    return name != "k" && name != "n" && name != "m";
  }
  for (size_t i = 0; i < item.size(); ++i) {
    if (has_variables(item.child(i))) return true;
  }
  return false;
}

// x = 5, a list of such, or a system of such.
bool gives_constants(const Item& item) {
  if (item.is(Kind::kList)) {
    for (size_t i = 0; i < item.size(); ++i) {
      if (!gives_constants(item.child(i))) return false;
    }
    return true;
  }
  if (!item.is(Kind::kRelation) || item.node().text != "=") return false;
  return !has_variables(item.child(1)) || !has_variables(item.child(0));
}

Connective connective_of(const Item& item) {
  if (!item.is(Kind::kList) || item.size() < 2 || !is_condition(item)) return Connective::kNone;
  const std::string& text = item.node().text;
  // Lines and curves are listed by either too: y = 2x and y = -2x.
  const bool are_solutions = text == "," || gives_constants(item) || subject_of(item.child(0)) == "y";
  if (text == "plus-minus" || (have_one_subject(item) && are_solutions)) return Connective::kEither;
  return text == "or" || text == "lor" ? Connective::kOr : Connective::kAnd;
}

}  // namespace

bool has_alternative_names(const Item& item) {
  return connective_of(item) == Connective::kOr && !have_one_subject(item);
}

std::optional<Verdict> compare_connectives(const Item& a, const Item& b) {
  const Connective first = connective_of(a), second = connective_of(b);
  const bool are_opposed = (first == Connective::kAnd && second == Connective::kOr) ||
                           (first == Connective::kOr && second == Connective::kAnd);
  if (are_opposed) return unequal("\"and\" and \"or\" between the conditions");
  if ((first == Connective::kNone && has_alternative_names(b)) ||
      (second == Connective::kNone && has_alternative_names(a)))
    return unequal("alternatives for different names");
  return std::nullopt;
}

}  // namespace cohort::answers
