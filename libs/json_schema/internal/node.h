// A schema as it is compiled: a list of nodes, one for each schema of the document.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/json_schema/schema.h"
#include "libs/regex/regex.h"

namespace cohort::json_schema {

using NodeId = uint32_t;
constexpr NodeId kNoNode = UINT32_MAX;

struct Pattern {
  std::string text;  ///< as the schema has it
  Regex regex;
};

struct Range {
  uint64_t least = 0, most = UINT64_MAX;

  bool holds(uint64_t count) const { return count >= least && count <= most; }
};

/// What else an object with this key needs.
struct Dependency {
  std::string key;
  std::vector<std::string> required;
  NodeId schema = kNoNode;
};

struct PatternProperty {
  Pattern pattern;
  NodeId schema;
};

/// Bits of Node::types: those of Value::Kind, and one for integers.
constexpr uint8_t kIntegerType = 1 << 6, kAnyType = 0x7f;

/// One schema of the document; schemas within it are other nodes.
struct Node {
  bool is_never = false;  ///< the schema `false`
  uint8_t types = kAnyType;
  const Value* choices = nullptr;   ///< enum
  const Value* constant = nullptr;  ///< const

  std::optional<Decimal> minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of;
  Range length, num_items, num_properties;
  std::optional<Pattern> pattern;

  std::vector<NodeId> prefix_items;
  NodeId items = kNoNode;  ///< of what follows the prefix
  NodeId contains = kNoNode;
  Range num_contained{1, UINT64_MAX};
  bool has_unique_items = false;

  std::map<std::string, NodeId, std::less<>> properties;
  std::vector<PatternProperty> pattern_properties;
  NodeId additional_properties = kNoNode, property_names = kNoNode;
  std::vector<std::string> required;
  std::vector<Dependency> dependencies;

  NodeId reference = kNoNode, negated = kNoNode;
  std::vector<NodeId> all_of, any_of, one_of;
  NodeId condition = kNoNode, consequence = kNoNode, alternative = kNoNode;  ///< if, then, else
  NodeId unevaluated_items = kNoNode, unevaluated_properties = kNoNode;

  bool has_unevaluated() const { return unevaluated_items != kNoNode || unevaluated_properties != kNoNode; }
};

struct Schema::Compiled {
  Value document;
  std::deque<Node> nodes{};  ///< which point into the document
  NodeId root = kNoNode;
};

}  // namespace cohort::json_schema
