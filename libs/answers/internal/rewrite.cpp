#include "libs/answers/internal/rewrite.h"

#include <algorithm>
#include <set>

namespace cohort::answers {
namespace {

constexpr int kMaxSigns = 4;

// The signs of an item, without those inside its sets.
struct Signs {
  int count = 0;
  bool has_upper = false, has_lower = false;

  /// 1 where all signs go together.
  int num_free() const { return has_upper && has_lower ? 1 : count; }
};

void count_signs(const Tree& tree, NodeId id, Signs& signs) {
  if (tree.is(id, Kind::kSet)) return;
  if (tree.is(id, Kind::kPlusMinus)) {
    ++signs.count;
    (tree[id].text == "+" ? signs.has_upper : signs.has_lower) = true;
  }
  for (NodeId child : tree[id].children) count_signs(tree, child, signs);
}

bool is_symbol(const Tree& tree, NodeId id) {
  const std::string& name = tree[id].text;
  return tree.is(id, Kind::kSymbol) && name != "pi" && name != "e" && name != "i" && name != "infinity" &&
         name != "reals" && name != "empty set";
}

class Copier {
 public:
  Copier(const Tree& source, Tree& target) : source_(source), target_(target) {}

  // The values of an item, the one with all upper signs first.
  std::vector<NodeId> values(NodeId id) {
    Signs signs;
    count_signs(source_, id, signs);
    if (signs.num_free() > kMaxSigns) throw TreeLimit{};
    const bool is_inequality =
        source_.is(id, Kind::kRelation) && source_[id].text.find_first_of("<>lg") != std::string::npos;
    if (is_inequality && signs.count > 0)
      throw ParseFailure{ParseFailure::Kind::kUnsupported, "a plus-minus in an inequality"};
    std::vector<NodeId> result;
    for (int lower = 0; lower < 1 << signs.num_free(); ++lower) {
      int next = 0;
      result.push_back(copy(id, lower, signs.num_free() < signs.count, next));
    }
    return result;
  }

 private:
  // A copy in which the bits of `lower` choose the lower signs, all by the first bit where they are linked.
  NodeId copy(NodeId id, int lower, bool is_linked, int& next) {
    const Node& node = source_[id];
    std::vector<NodeId> children;
    const int sign = node.kind == Kind::kPlusMinus && !is_linked ? next++ : 0;
    for (NodeId child : node.children) {
      if (node.kind == Kind::kSet) {
        for (NodeId value : values(child)) children.push_back(value);
      } else {
        children.push_back(copy(child, lower, is_linked, next));
      }
    }
    if (node.kind != Kind::kPlusMinus) return target_.add(node.kind, node.text, std::move(children));
    const bool is_upper = (lower >> sign & 1) == 0;
    if ((node.text == "+") != is_upper) children[1] = target_.add(Kind::kNegate, "", {children[1]});
    return target_.add(Kind::kAdd, "", std::move(children));
  }

  const Tree& source_;
  Tree& target_;
};

// a = b = 1: a list of equations. Nothing for other items.
std::optional<NodeId> split_chain(Tree& tree, NodeId id) {
  const Node& node = tree[id];
  const size_t count = node.children.size();
  if (node.kind != Kind::kRelation || node.text.find_first_not_of('=') != std::string::npos || count < 3)
    return std::nullopt;
  std::set<std::string> names;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (!is_symbol(tree, node.children[i]) || !names.insert(tree[node.children[i]].text).second)
      return std::nullopt;
  }
  if (is_symbol(tree, node.children.back())) return std::nullopt;
  const std::vector<NodeId> sides = node.children;
  std::vector<NodeId> equations;
  for (size_t i = 0; i + 1 < count; ++i)
    equations.push_back(tree.add(Kind::kRelation, "=", {sides[i], sides.back()}));
  return tree.add(Kind::kList, ",", std::move(equations));
}

// Of x != -2, 2 the values behind the first one become conditions too. Says whether it did so.
bool complete_conditions(Tree& tree, std::vector<NodeId>& items) {
  if (items.size() < 2 || !tree.is(items[0], Kind::kRelation, "n")) return false;
  for (size_t i = 1; i < items.size(); ++i) {
    const Kind kind = tree[items[i]].kind;
    const bool is_value = kind == Kind::kNumber || kind == Kind::kNegate || kind == Kind::kDivide ||
                          kind == Kind::kAdd || kind == Kind::kMultiply || kind == Kind::kCall ||
                          kind == Kind::kPower;
    if (!is_value) return false;
  }
  const NodeId left = tree.child(items[0], 0);
  for (size_t i = 1; i < items.size(); ++i) items[i] = tree.add(Kind::kRelation, "n", {left, items[i]});
  return true;
}

}  // namespace

NodeId copy_tree(const Tree& source, NodeId id, Tree& target) {
  std::vector<NodeId> children;
  for (NodeId child : source[id].children) children.push_back(copy_tree(source, child, target));
  return target.add(source[id].kind, source[id].text, std::move(children));
}

Expression resolve_signs(const Expression& source) {
  Expression result;
  const bool is_list = source.tree.is(source.root, Kind::kList);
  std::string connector = is_list ? source.tree[source.root].text : "plus-minus";
  const std::vector<NodeId> parts = is_list ? source.tree[source.root].children : std::vector{source.root};
  std::vector<NodeId> items;
  for (NodeId part : parts) {
    std::vector<NodeId> values = Copier(source.tree, result.tree).values(part);
    // Not 2 and not -2.
    const bool is_both = values.size() > 1 && source.tree.is(part, Kind::kRelation, "n");
    if (is_both && !is_list) connector = "and";
    if (is_both && connector == "or") values = {result.tree.add(Kind::kList, "and", values)};
    items.insert(items.end(), values.begin(), values.end());
  }
  if (complete_conditions(result.tree, items)) connector = "and";
  if (items.size() == 1) {
    result.root = split_chain(result.tree, items[0]).value_or(items[0]);
  } else {
    result.root = result.tree.add(Kind::kList, connector, items);
  }
  return result;
}

}  // namespace cohort::answers
