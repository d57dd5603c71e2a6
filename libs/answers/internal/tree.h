// An answer of mathematics as a tree. Nodes live in one vector and name each other by index, so that a tree
// of any depth is freed without recursion; a tree that has been built is never deeper or larger than its
// limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::answers {

enum class Kind : uint8_t {
  kNumber,     ///< text: digits with an optional point, and the repeating part in parentheses: 12, 1.5, 0.(3)
  kSymbol,     ///< text: a variable, or a constant: pi, e, i, infinity, reals, empty set
  kUnit,       ///< text: a name that units.h resolves
  kAdd,        ///< any number of terms
  kNegate,     ///< one
  kMultiply,   ///< any number of factors
  kDivide,     ///< two; text: "date" for 6/12/2020, "time", "time am" or "time pm" for 3:30, else empty
  kPower,      ///< two
  kCall,       ///< text: a function's name; its arguments
  kPlusMinus,  ///< two terms; text: + where the upper sign adds, else -
  kTuple,      ///< text: both brackets, such as (]
  kSet,        ///< elements
  kSetBuilder,  ///< the condition; text "image" where an expression stands before the bar, which comes second
  kList,        ///< items without brackets; text: what joined them: , and or, land lor in logic, plus-minus
  kMatrix,      ///< rows, which are tuples
  kUnion,       ///< two sets
  kIntersection,  ///< two sets
  kDifference,    ///< two sets
  kMember,        ///< what is on the left of "in", and the set
  kRelation,  ///< operands; text: one of = < > l g n between each two (l, g: or equal; n: not equal); m: the
              ///< first is the second modulo the third
  kRatio,     ///< three parts and more; text as of kDivide
};

using NodeId = int32_t;

struct Node {
  Kind kind = Kind::kNumber;
  std::string text;
  std::vector<NodeId> children;
  int32_t depth = 1;
};

/// What was asked of a tree that it refuses; caught by those who build trees.
struct TreeLimit {};

class Tree {
 public:
  static constexpr size_t kMaxNodes = 4000;
  static constexpr int32_t kMaxDepth = 120;

  /// Adds a node whose children are there. Throws TreeLimit.
  NodeId add(Kind kind, std::string text, std::vector<NodeId> children = {}) {
    int32_t depth = 0;
    for (NodeId child : children) depth = std::max(depth, nodes_[child].depth);
    if (nodes_.size() >= kMaxNodes || depth >= kMaxDepth) throw TreeLimit{};
    nodes_.push_back({kind, std::move(text), std::move(children), depth + 1});
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  NodeId child(NodeId id, size_t index) const { return nodes_[id].children[index]; }
  bool is(NodeId id, Kind kind) const { return nodes_[id].kind == kind; }
  bool is(NodeId id, Kind kind, const char* text) const { return is(id, kind) && nodes_[id].text == text; }

 private:
  std::vector<Node> nodes_;
};

}  // namespace cohort::answers
