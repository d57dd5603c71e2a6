// Schemas that refer to themselves without going into the instance, such as {"$ref": "#"}.
#include "libs/common/excerpt.h"
#include "libs/common/str.h"
#include "libs/json_schema/internal/compiler.h"

namespace cohort::json_schema {
namespace {

/// The nodes that apply to the same instance as `node`.
std::vector<NodeId> nodes_in_place(const Node& node) {
  std::vector<NodeId> nodes = {node.reference, node.negated, node.condition, node.consequence,
                               node.alternative};
  for (const auto* list : {&node.all_of, &node.any_of, &node.one_of})
    nodes.insert(nodes.end(), list->begin(), list->end());
  for (const Dependency& dependency : node.dependencies) nodes.push_back(dependency.schema);
  std::erase(nodes, kNoNode);
  return nodes;
}

/// A step of the search: a node and those that it has not gone into yet.
struct Step {
  NodeId node;
  std::vector<NodeId> rest;
};

}  // namespace

void check_loops(const std::deque<Node>& nodes, const std::vector<std::string>& places) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(nodes.size(), State::kNew);
  for (NodeId start = 0; start < nodes.size(); ++start) {
    if (states[start] != State::kNew) continue;
    std::vector<Step> path;
    states[start] = State::kOpen;
    path.push_back({start, nodes_in_place(nodes[start])});
    while (!path.empty()) {
      if (path.back().rest.empty()) {
        states[path.back().node] = State::kDone;
        path.pop_back();
        continue;
      }
      const NodeId next = path.back().rest.back();
      path.back().rest.pop_back();
      if (states[next] == State::kOpen)
        throw SchemaError(str("schema at ", excerpt(places[next]), ": refers to itself without end"));
      if (states[next] == State::kDone) continue;
      states[next] = State::kOpen;
      path.push_back({next, nodes_in_place(nodes[next])});
    }
  }
}

}  // namespace cohort::json_schema
