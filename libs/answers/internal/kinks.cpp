#include "libs/answers/internal/kinks.h"

#include <algorithm>
#include <set>

#include "libs/answers/internal/linear.h"
#include "libs/common/hash.h"

namespace cohort::answers {
namespace {

constexpr size_t kMaxVariables = 4;
constexpr size_t kMaxKinks = 24;  // along one variable

void collect_variables(const Item& item, std::set<std::string>& names) {
  if (is_variable(item)) names.insert(item.node().text);
  for (size_t i = 0; i < item.size(); ++i) collect_variables(item.child(i), names);
}

// A copy in which all variables but one are small integers of their own.
NodeId copy_along(const Item& item, const std::string& variable, const Values& others, Tree& target) {
  if (is_variable(item) && item.node().text != variable) {
    return target.add(Kind::kNumber, std::to_string(*others.at(item.node().text).small_integer()));
  }
  std::vector<NodeId> children;
  children.reserve(item.size());
  for (size_t i = 0; i < item.size(); ++i)
    children.push_back(copy_along(item.child(i), variable, others, target));
  return target.add(item.node().kind, item.node().text, std::move(children));
}

bool is_step(const Node& node) {
  return node.kind == Kind::kCall && (node.text == "floor" || node.text == "ceil");
}

bool is_bend(const Node& node) {
  if (node.kind == Kind::kPower) return true;
  return node.kind == Kind::kCall && (node.text == "abs" || node.text == "sqrt" || node.text == "root");
}

// Adds the places where the largest linear parts of an expression pass the targets.
class KinkFinder {
 public:
  KinkFinder(std::string variable, std::vector<Fraction>& kinks)
      : variable_(std::move(variable)), kinks_(kinks) {}

  void search(const Item& item) {
    if (is_step(item.node())) {
      enter(item.child(0), {-1, 0, 1, 2});
    } else if (is_bend(item.node())) {
      enter(item.child(0), {0});
    }
    for (size_t i = 0; i < item.size(); ++i) search(item.child(i));
  }

 private:
  void enter(const Item& content, const std::vector<int64_t>& targets) {
    const std::optional<Linear> form = find_linear(content, variable_);
    if (!form) {
      if (is_step(content.node()) || is_bend(content.node())) return;  // searched for themselves
      for (size_t i = 0; i < content.size(); ++i) enter(content.child(i), targets);
      return;
    }
    if (form->slope.is_zero()) return;
    for (int64_t target : targets) kinks_.push_back((Fraction(target) - form->offset) / form->slope);
  }

  std::string variable_;
  std::vector<Fraction>& kinks_;
};

void sort_unique(std::vector<Fraction>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Evenly among them where they are too many.
void thin_out(std::vector<Fraction>& values) {
  if (values.size() <= kMaxKinks) return;
  std::vector<Fraction> kept;
  kept.reserve(kMaxKinks);
  for (size_t i = 0; i < kMaxKinks; ++i) kept.push_back(values[i * (values.size() - 1) / (kMaxKinks - 1)]);
  values = std::move(kept);
}

// With `has_small` those up to a hundred and some more, for steps of what is not linear.
std::vector<Fraction> integers_around(const std::vector<Fraction>& kinks, bool has_small) {
  constexpr int64_t kFirst = -16, kLast = 128;
  std::vector<Fraction> places;
  for (int64_t place = kFirst; has_small && place <= kLast; ++place) places.push_back(Fraction(place));
  for (const Fraction& kink : kinks) {
    Fraction floor;
    fmpz_fdiv_q(fmpq_numref(floor.get()), fmpq_numref(kink.get()), fmpq_denref(kink.get()));
    for (int64_t offset : {-1, 0, 1, 2}) places.push_back(floor + Fraction(offset));
  }
  return places;
}

std::vector<Fraction> places_between(const std::vector<Fraction>& kinks) {
  std::vector<Fraction> places = kinks;
  for (size_t i = 0; i + 1 < kinks.size(); ++i) places.push_back((kinks[i] + kinks[i + 1]) / Fraction(2));
  if (!kinks.empty()) places.push_back(kinks.front() - Fraction(1));
  if (!kinks.empty()) places.push_back(kinks.back() + Fraction(1));
  return places;
}

}  // namespace

std::vector<Values> kink_points(const Item& a, const Item& b, bool are_integers) {
  std::set<std::string> names;
  collect_variables(a, names);
  collect_variables(b, names);
  if (names.size() > kMaxVariables) return {};
  Values others;
  for (const std::string& name : names)
    others.emplace(name, Fraction(3 + static_cast<int64_t>(fnv1a(name) % 17)));
  std::vector<Values> points;
  for (const std::string& name : names) {
    std::vector<Fraction> kinks;
    KinkFinder finder(name, kinks);
    for (const Item& item : {a, b}) {
      Tree tree;
      const NodeId root = copy_along(item, name, others, tree);
      finder.search({&tree, root});
    }
    sort_unique(kinks);
    thin_out(kinks);
    std::vector<Fraction> places =
        are_integers ? integers_around(kinks, names.size() == 1) : places_between(kinks);
    sort_unique(places);
    for (const Fraction& place : places) {
      points.push_back(others);
      points.back().insert_or_assign(name, place);
    }
  }
  return points;
}

}  // namespace cohort::answers
