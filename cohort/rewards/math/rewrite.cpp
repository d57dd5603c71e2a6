#include "cohort/rewards/math/rewrite.h"

namespace cohort::math {
namespace {

bool has_signs(const Tree& tree, NodeId id) {
  if (tree.is(id, Kind::kPlusMinus)) return true;
  for (NodeId child : tree[id].children) {
    if (has_signs(tree, child)) return true;
  }
  return false;
}

// Copies a subtree with the upper or the lower signs.
NodeId copy(const Tree& source, NodeId id, bool is_upper, Tree& target) {
  const Node& node = source[id];
  std::vector<NodeId> children;
  for (NodeId child : node.children) children.push_back(copy(source, child, is_upper, target));
  if (node.kind != Kind::kPlusMinus) return target.add(node.kind, node.text, std::move(children));
  if ((node.text == "+") != is_upper) children[1] = target.add(Kind::kNegate, "", {children[1]});
  return target.add(Kind::kAdd, "", std::move(children));
}

void add_items(const Tree& source, NodeId id, Tree& target, std::vector<NodeId>& items) {
  if (source.is(id, Kind::kList)) {
    for (NodeId child : source[id].children) add_items(source, child, target, items);
    return;
  }
  items.push_back(copy(source, id, true, target));
  if (has_signs(source, id)) items.push_back(copy(source, id, false, target));
}

}  // namespace

Expression resolve_signs(const Expression& source) {
  Expression result;
  std::vector<NodeId> items;
  add_items(source.tree, source.root, result.tree, items);
  const bool is_list = source.tree.is(source.root, Kind::kList);
  const std::string connector = is_list ? source.tree[source.root].text : "or";
  result.root = items.size() == 1 ? items[0] : result.tree.add(Kind::kList, connector, items);
  return result;
}

}  // namespace cohort::math
