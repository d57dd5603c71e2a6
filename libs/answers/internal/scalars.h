// Are two expressions the same number or the same function of their variables?
#pragma once

#include <optional>

#include "libs/answers/internal/evaluation.h"
#include "libs/answers/internal/tree.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// A node and the tree that it belongs to.
struct Item {
  const Tree* tree = nullptr;
  NodeId id = 0;

  const Node& node() const { return (*tree)[id]; }
  bool is(Kind kind) const { return node().kind == kind; }
  Item child(size_t index) const { return {tree, node().children[index]}; }
  size_t size() const { return node().children.size(); }
};

/// Written alike, token by token?
bool is_same_tree(const Item& a, const Item& b);

/// 1 or -1 for infinity and its opposite, nothing for other expressions.
std::optional<int> infinity_sign(const Item& item);

/// A letter or a name that has no value of its own.
bool is_variable(const Item& item);

/// Does `name` occur in the expression?
bool contains_symbol(const Item& item, const std::string& name);

/// Is it a function with roots, sizes or steps, which may agree with another up to some point and differ
/// behind?
bool has_kinks(const Item& item);

/// Number of nodes.
int64_t count_nodes(const Item& item);

/// Compares two expressions, units included. Symmetric.
Verdict compare_scalars(const Item& a, const Item& b, Work& work);

/// An equation or inequality: left - right is compared with 0.
struct Sides {
  Item left;
  Item right;
};

/// Is the one difference a constant multiple of the other? `is_positive` tells the sign of that constant.
Verdict compare_proportional(const Sides& a, const Sides& b, bool& is_positive, Work& work);

/// The order of two real constants: -1, 0 or 1; nothing where it stays open.
std::optional<int> compare_order(const Item& a, const Item& b, Work& work);

}  // namespace cohort::answers
