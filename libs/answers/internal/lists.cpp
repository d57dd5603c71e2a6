// What commas, "and" and "or" join, and what stands between the braces of a set.
#include <algorithm>
#include <set>

#include "libs/answers/internal/exact.h"
#include "libs/answers/internal/grammar.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

bool has(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

NodeId Grammar::list() {
  std::vector<NodeId> items = {relation()};
  std::vector<std::string> connectors;
  const auto is_connector = [this] {
    return is(",") || is(";") || is("and") || is("or") || is("land") || is("lor");
  };
  while (is_connector() || is_condition_in_brackets()) {
    const bool may_end = (is(",") || is(";")) && peek(1).kind == TokenKind::kEnd && connectors.empty();
    if (may_end) {  // 5,
      ++position_;
      break;
    }
    std::string connector = is_connector() ? peek().text : ",";
    for (; is_connector(); ++position_) {
      if (peek().text.size() > 1 || peek().text == ";") connector = peek().text;
    }
    connectors.push_back(connector);
    items.push_back(relation());
  }
  return items.size() == 1 ? items[0] : joined(std::move(items), connectors);
}

// x = k\pi (k \in \mathbb{Z}): a condition behind a value, and no factor.
bool Grammar::is_condition_in_brackets() const {
  size_t offset = 1;
  while (peek(offset).kind == TokenKind::kSymbol && is(",", offset + 1)) offset += 2;
  return is("(") && peek(offset).kind == TokenKind::kSymbol && is("in", offset + 1);
}

// p \land q: a list whose connector counts; "and" and "or" where it joins conditions.
NodeId Grammar::logic(std::vector<NodeId> items, const std::vector<std::string>& connectors) {
  const bool has_conditions = std::any_of(items.begin(), items.end(), [this](NodeId item) {
    return tree_.is(item, Kind::kRelation) || tree_.is(item, Kind::kMember);
  });
  if (has_conditions) {
    std::vector<std::string> words = connectors;
    for (std::string& word : words) word = word == "land" ? "and" : word == "lor" ? "or" : word;
    return joined(std::move(items), words);
  }
  for (const std::string& connector : connectors) {
    if (connector != connectors[0]) fail("a mixture of \\land and \\lor");
  }
  return add(Kind::kList, connectors[0], std::move(items));
}

NodeId Grammar::joined(std::vector<NodeId> items, const std::vector<std::string>& connectors) {
  if (has(connectors, "land") || has(connectors, "lor")) return logic(std::move(items), connectors);
  const std::vector<std::vector<NodeId>> groups = find_groups(items, connectors);
  if (!groups.empty()) {
    const bool is_logic = has(connectors, "and") && !are_assignments(groups[0]);
    std::vector<NodeId> lists;
    lists.reserve(groups.size());
    for (const std::vector<NodeId>& group : groups)
      lists.push_back(group.size() == 1 ? group[0] : add(Kind::kList, is_logic ? "and" : ",", group));
    return add(Kind::kList, "or", std::move(lists));
  }
  std::string text = ",";
  for (const std::string& connector : connectors) {
    if (connector.size() > 1) text = connector;
  }
  return add(Kind::kList, text, std::move(items));
}

// The name that an equation gives a value; nothing for other items.
std::optional<std::string> Grammar::assigned_name(NodeId item) const {
  if (!tree_.is(item, Kind::kRelation, "=") || !tree_.is(tree_.child(item, 0), Kind::kSymbol))
    return std::nullopt;
  return tree_[tree_.child(item, 0)].text;
}

// Values for several names, each once: x = 1, y = 2.
bool Grammar::are_assignments(const std::vector<NodeId>& items) const {
  std::set<std::string> names;
  for (NodeId item : items) {
    const std::optional<std::string> name = assigned_name(item);
    if (!name || !names.insert(*name).second) return false;
  }
  return items.size() > 1;
}

// x = 1, y = 2 or x = 3, y = 4: what belongs together. Empty where every item stands for itself.
std::vector<std::vector<NodeId>> Grammar::find_groups(const std::vector<NodeId>& items,
                                                      const std::vector<std::string>& connectors) const {
  const std::string split = has(connectors, "or") ? "or" : has(connectors, ";") ? ";" : "";
  std::vector<std::vector<NodeId>> groups = {{items[0]}};
  bool has_only_and = split == "or";
  for (size_t i = 1; i < items.size(); ++i) {
    if (connectors[i - 1] == split) groups.emplace_back();
    has_only_and = has_only_and && (connectors[i - 1] == split || connectors[i - 1] == "and");
    groups.back().push_back(items[i]);
  }
  const auto is_condition = [this](NodeId item) {
    return tree_.is(item, Kind::kRelation) || tree_.is(item, Kind::kMember);
  };
  const bool are_systems =
      std::all_of(groups.begin(), groups.end(), [this](const auto& group) { return are_assignments(group); });
  const bool is_logic =
      has_only_and && groups.size() < items.size() && std::all_of(items.begin(), items.end(), is_condition);
  if (groups.size() > 1) return are_systems || is_logic ? groups : std::vector<std::vector<NodeId>>();
  // x = 1, y = 2, x = 3, y = 4: the names come again in the same order.
  size_t period = 1;
  while (period < items.size() && assigned_name(items[period]) != assigned_name(items[0])) ++period;
  if (period == 1 || period == items.size() || items.size() % period != 0) return {};
  groups.clear();
  for (size_t i = 0; i < items.size(); ++i) {
    const std::optional<std::string> name = assigned_name(items[i]);
    if (!name || name != assigned_name(items[i % period])) return {};
    if (i % period == 0) groups.emplace_back();
    groups.back().push_back(items[i]);
  }
  return are_assignments(groups[0]) ? groups : std::vector<std::vector<NodeId>>();
}

std::optional<int64_t> Grammar::small_integer(NodeId id) const {
  const ExactValue value = evaluate_exactly(tree_, id);
  return value.is_ok() ? value.value.small_integer() : std::nullopt;
}

NodeId Grammar::integer(int64_t value) {
  const NodeId number = add(Kind::kNumber, std::to_string(std::abs(value)));
  return value < 0 ? add(Kind::kNegate, "", {number}) : number;
}

// { head | condition }.
NodeId Grammar::set_builder(NodeId head, NodeId condition) {
  const bool is_member = tree_.is(head, Kind::kMember);
  const NodeId variable = is_member ? tree_.child(head, 0) : head;
  if (!tree_.is(variable, Kind::kSymbol)) return add(Kind::kSetBuilder, "image", {condition, head});
  if (!is_member || tree_.is(tree_.child(head, 1), Kind::kSymbol, "reals"))
    return add(Kind::kSetBuilder, "", {condition});
  const bool is_natural = tree_.is(tree_.child(head, 1), Kind::kSymbol, "mathbb N");
  if (is_natural || tree_.is(tree_.child(head, 1), Kind::kSymbol, "mathbb Z")) {
    if (const auto integers = integers_between(variable, is_natural, condition)) return *integers;
  }
  return add(Kind::kSetBuilder, "", {add(Kind::kList, "and", {condition, head})});
}

// The set of the integers that 1 <= x < 5 allows; nothing for conditions of another form.
std::optional<NodeId> Grammar::integers_between(NodeId variable, bool is_natural, NodeId condition) {
  constexpr int64_t kMaxIntegers = 64;
  constexpr int64_t kMaxSize = 1'000'000'000;
  if (!tree_.is(condition, Kind::kRelation) || tree_[condition].children.size() != 3) return std::nullopt;
  if (!tree_.is(tree_.child(condition, 1), Kind::kSymbol, tree_[variable].text.c_str())) return std::nullopt;
  std::string signs = tree_[condition].text;
  const bool is_falling = signs.find_first_not_of(">g") == std::string::npos;
  if (!is_falling && signs.find_first_not_of("<l") != std::string::npos) return std::nullopt;
  if (is_falling) std::reverse(signs.begin(), signs.end());
  const std::optional<int64_t> low = small_integer(tree_.child(condition, is_falling ? 2 : 0)),
                               high = small_integer(tree_.child(condition, is_falling ? 0 : 2));
  if (!low || !high || std::abs(*low) > kMaxSize || std::abs(*high) > kMaxSize) return std::nullopt;
  const int64_t first = *low + (signs[0] == '<' || signs[0] == '>'),
                last = *high - (signs[1] == '<' || signs[1] == '>');
  // Whether 0 is a natural number is a matter of taste.
  if (first > last || last - first >= kMaxIntegers || (is_natural && first < 1)) return std::nullopt;
  std::vector<NodeId> integers;
  for (int64_t value = first; value <= last; ++value) integers.push_back(integer(value));
  return add(Kind::kSet, "", std::move(integers));
}

// {1, 2, ..., 10}: fills the gap behind `gap` items with the integers that go on like those before it.
void Grammar::fill_range(std::vector<NodeId>& items, size_t gap) {
  constexpr int64_t kMaxIntegers = 64;
  constexpr int64_t kMaxSize = 1'000'000'000;
  std::vector<int64_t> values;
  for (NodeId item : items) {
    const std::optional<int64_t> value = small_integer(item);
    if (value && std::abs(*value) <= kMaxSize) values.push_back(*value);
  }
  const int64_t step = values.size() > 1 ? values[1] - values[0] : 0;
  bool is_range = values.size() == items.size() && gap >= 2 && gap + 1 == items.size() && step != 0;
  for (size_t i = 1; is_range && i < gap; ++i) is_range = values[i] - values[i - 1] == step;
  const int64_t rest = is_range ? values.back() - values[gap - 1] : 0;
  if (!is_range || rest % step != 0 || rest / step < 1 || rest / step > kMaxIntegers) {
    throw ParseFailure{ParseFailure::Kind::kUnsupported, "dots between what are no integers at equal steps"};
  }
  items.pop_back();
  for (int64_t value = values[gap - 1] + step; value != values.back() + step; value += step)
    items.push_back(integer(value));
}

}  // namespace cohort::answers
