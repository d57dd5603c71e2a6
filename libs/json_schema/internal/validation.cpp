// Whether an instance is valid, and if not, the first thing that is wrong with it.
#include <algorithm>
#include <unordered_map>

#include "libs/common/excerpt.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/json_schema/internal/keywords.h"
#include "libs/json_schema/internal/node.h"

namespace cohort::json_schema {
namespace {

constexpr int64_t kMaxSteps = 4'000'000;
constexpr int64_t kPatternSteps = 200;
constexpr int kMaxNesting = 1000;  // of schemas within each other, as they are applied

struct LimitPassed {
  std::string reason;
};

/// Where in the instance: a path to the top.
struct Place {
  const Place* up = nullptr;
  std::string_view key{};
  size_t index = 0;
  bool is_index = false;
};

std::string pointer_of(const Place& place) {
  if (place.up == nullptr) return "";
  return join_pointer(pointer_of(*place.up),
                      place.is_index ? std::to_string(place.index) : std::string(place.key));
}

/// Which members and items some schema has looked at: what `unevaluatedProperties` and `unevaluatedItems`
/// leave alone.
struct Evaluated {
  std::vector<bool> members, items;

  explicit Evaluated(const Value& value) : members(value.members.size()), items(value.items.size()) {}

  void add(const Evaluated& other) {
    for (size_t i = 0; i < members.size(); ++i) members[i] = members[i] || other.members[i];
    for (size_t i = 0; i < items.size(); ++i) items[i] = items[i] || other.items[i];
  }
};

std::string type_names(uint8_t types) {
  constexpr const char* kNames[] = {"null", "boolean", "number", "string", "array", "object", "integer"};
  std::string names;
  for (int i = 0; i < 7; ++i) {
    if ((types >> i & 1) != 0) names += str(names.empty() ? "" : " or ", kNames[i]);
  }
  return names;
}

class Validation {
 public:
  explicit Validation(const Schema::Compiled& schema) : schema_(schema) {}

  std::optional<std::string> run(const Value& instance) {
    try {
      check(schema_.root, instance, Place(), nullptr);
    } catch (const LimitPassed& limit) {
      fault_ = limit.reason;
    }
    return fault_;
  }

 private:
  void spend(size_t steps) {
    steps_ += static_cast<int64_t>(steps);
    if (steps_ > kMaxSteps) throw LimitPassed{str("validation takes more than ", kMaxSteps, " steps")};
  }

  /// Keeps the first fault; `reason` makes its text where it is wanted.
  template <typename Reason>
  bool fail(const Place& place, const Reason& reason) {
    if (num_tries_ == 0 && !fault_) fault_ = str("at ", excerpt(pointer_of(place), 200), ": ", reason());
    return false;
  }

  /// Whether it holds; what does not hold is no fault yet.
  bool try_node(NodeId id, const Value& value, const Place& place, Evaluated* evaluated) {
    ++num_tries_;
    const bool holds = check(id, value, place, evaluated);
    --num_tries_;
    return holds;
  }

  bool check(NodeId id, const Value& value, const Place& place, Evaluated* evaluated) {
    const Node& node = schema_.nodes[id];
    spend(1);
    if (node.is_never) return fail(place, [&] { return str(describe(value), " is not allowed here"); });
    if (++nesting_ > kMaxNesting)
      throw LimitPassed{str("schemas are applied within each other more than ", kMaxNesting, " deep")};
    bool is_valid = false;
    if (evaluated != nullptr || node.has_unevaluated()) {
      Evaluated own(value);
      is_valid = check_parts(node, value, place, &own) && check_unevaluated(node, value, place, own);
      if (is_valid && evaluated != nullptr) evaluated->add(own);
    } else {
      is_valid = check_parts(node, value, place, nullptr);
    }
    --nesting_;
    return is_valid;
  }

  bool check_parts(const Node& node, const Value& value, const Place& place, Evaluated* seen) {
    return check_type(node, value, place) && check_equality(node, value, place) &&
           (value.kind != Value::Kind::kNumber || check_number(node, value, place)) &&
           (value.kind != Value::Kind::kString || check_string(node, value, place)) &&
           (value.kind != Value::Kind::kArray || check_array(node, value, place, seen)) &&
           (value.kind != Value::Kind::kObject || check_object(node, value, place, seen)) &&
           check_lists(node, value, place, seen) && check_singles(node, value, place, seen);
  }

  bool check_type(const Node& node, const Value& value, const Place& place) {
    const bool is_kind = (node.types >> static_cast<int>(value.kind) & 1) != 0;
    const bool is_integer =
        (node.types & kIntegerType) != 0 && value.kind == Value::Kind::kNumber && value.number.is_integer();
    if (is_kind || is_integer) return true;
    return fail(place, [&] { return str(describe(value), " is not of type ", type_names(node.types)); });
  }

  bool check_equality(const Node& node, const Value& value, const Place& place) {
    if (node.choices != nullptr) {
      const std::vector<Value>& choices = node.choices->items;
      spend(choices.size());
      const auto same = [&](const Value& choice) { return is_same(choice, value); };
      if (std::none_of(choices.begin(), choices.end(), same))
        return fail(place,
                    [&] { return str(describe(value), " is none of the ", choices.size(), " of enum"); });
    }
    if (node.constant == nullptr || is_same(*node.constant, value)) return true;
    return fail(place, [&] { return str(describe(value), " is not the const ", describe(*node.constant)); });
  }

  bool check_number(const Node& node, const Value& value, const Place& place) {
    const Decimal& number = value.number;
    const auto fail_number = [&](const char* what) {
      return fail(place, [&] { return str(describe(value), " ", what); });
    };
    if (node.minimum && compare(number, *node.minimum) < 0) return fail_number("is below minimum");
    if (node.maximum && compare(number, *node.maximum) > 0) return fail_number("is above maximum");
    if (node.exclusive_minimum && compare(number, *node.exclusive_minimum) <= 0)
      return fail_number("is not above exclusiveMinimum");
    if (node.exclusive_maximum && compare(number, *node.exclusive_maximum) >= 0)
      return fail_number("is not below exclusiveMaximum");
    if (node.multiple_of && !is_multiple(number, *node.multiple_of))
      return fail_number("is no multiple of multipleOf");
    return true;
  }

  bool check_string(const Node& node, const Value& value, const Place& place) {
    const auto length = static_cast<uint64_t>(count_code_points(value.text));
    if (!node.length.holds(length))
      return fail_size(place, "characters", length, node.length, "minLength", "maxLength");
    if (!node.pattern || matches(*node.pattern, value.text)) return true;
    return fail(place, [&] { return str(describe(value), " does not match ", excerpt(node.pattern->text)); });
  }

  bool matches(const Pattern& pattern, const std::string& text) {
    spend(kPatternSteps + text.size());
    try {
      return pattern.regex.is_match(text);
    } catch (const RegexError&) {
      throw LimitPassed{str("the search for ", excerpt(pattern.text), " takes too many steps")};
    }
  }

  bool fail_size(const Place& place, const char* what, uint64_t size, const Range& range, const char* least,
                 const char* most) {
    return fail(place, [&] {
      return size < range.least ? str(size, " ", what, ", fewer than ", least, " ", range.least)
                                : str(size, " ", what, ", more than ", most, " ", range.most);
    });
  }

  bool check_array(const Node& node, const Value& value, const Place& place, Evaluated* seen) {
    const std::vector<Value>& items = value.items;
    if (!node.num_items.holds(items.size()))
      return fail_size(place, "items", items.size(), node.num_items, "minItems", "maxItems");
    for (size_t i = 0; i < items.size(); ++i) {
      const NodeId schema = i < node.prefix_items.size() ? node.prefix_items[i] : node.items;
      if (schema == kNoNode) break;
      if (!check(schema, items[i], {&place, {}, i, true}, nullptr)) return false;
      if (seen != nullptr) seen->items[i] = true;
    }
    if (node.contains != kNoNode && !check_contains(node, value, place, seen)) return false;
    return !node.has_unique_items || check_unique(items, place);
  }

  bool check_contains(const Node& node, const Value& value, const Place& place, Evaluated* seen) {
    uint64_t count = 0;
    for (size_t i = 0; i < value.items.size(); ++i) {
      if (!try_node(node.contains, value.items[i], {&place, {}, i, true}, nullptr)) continue;
      ++count;
      if (seen != nullptr) seen->items[i] = true;
    }
    if (node.num_contained.holds(count)) return true;
    return fail_size(place, "items that `contains` asks for", count, node.num_contained, "minContains",
                     "maxContains");
  }

  bool check_unique(const std::vector<Value>& items, const Place& place) {
    std::unordered_multimap<uint64_t, size_t> seen;
    for (size_t i = 0; i < items.size(); ++i) {
      const uint64_t hash = hash_of(items[i]);
      const auto [begin, end] = seen.equal_range(hash);
      for (auto other = begin; other != end; ++other) {
        spend(1);
        if (is_same(items[other->second], items[i]))
          return fail(place, [&] { return str("items ", other->second, " and ", i, " are equal"); });
      }
      spend(1);
      seen.emplace(hash, i);
    }
    return true;
  }

  bool check_object(const Node& node, const Value& value, const Place& place, Evaluated* seen) {
    const std::vector<Member>& members = value.members;
    if (!node.num_properties.holds(members.size())) {
      return fail_size(place, "properties", members.size(), node.num_properties, "minProperties",
                       "maxProperties");
    }
    if (!check_required(node.required, value, place)) return false;
    for (const Dependency& dependency : node.dependencies) {
      if (value.find(dependency.key) != nullptr && !check_required(dependency.required, value, place))
        return false;
    }
    for (size_t i = 0; i < members.size(); ++i) {
      if (!check_member(node, members[i], place, seen, i)) return false;
    }
    return true;
  }

  bool check_required(const std::vector<std::string>& keys, const Value& value, const Place& place) {
    spend(keys.size());
    for (const std::string& key : keys) {
      if (value.find(key) == nullptr) return fail(place, [&] { return str("has no ", excerpt(key)); });
    }
    return true;
  }

  bool check_member(const Node& node, const Member& member, const Place& above, Evaluated* seen,
                    size_t index) {
    const Place place{&above, member.key, 0, false};
    if (node.property_names != kNoNode) {
      const Value name{.kind = Value::Kind::kString, .text = member.key, .members = {}};
      if (!check(node.property_names, name, place, nullptr)) return false;
    }
    bool is_known = false;
    if (const auto property = node.properties.find(member.key); property != node.properties.end()) {
      is_known = true;
      if (!check(property->second, member.value, place, nullptr)) return false;
    }
    for (const PatternProperty& property : node.pattern_properties) {
      if (!matches(property.pattern, member.key)) continue;
      is_known = true;
      if (!check(property.schema, member.value, place, nullptr)) return false;
    }
    if (!is_known && node.additional_properties != kNoNode) {
      is_known = true;
      if (!check(node.additional_properties, member.value, place, nullptr)) return false;
    }
    if (seen != nullptr && is_known) seen->members[index] = true;
    return true;
  }

  bool check_lists(const Node& node, const Value& value, const Place& place, Evaluated* seen) {
    for (const NodeId schema : node.all_of) {
      if (!check(schema, value, place, seen)) return false;
    }
    if (!node.any_of.empty()) {
      size_t count = 0;
      for (const NodeId schema : node.any_of) {
        count += try_node(schema, value, place, seen);
        // The others count only for what they look at.
        if (count > 0 && seen == nullptr) break;
      }
      if (count == 0)
        return fail(place,
                    [&] { return str("none of the ", node.any_of.size(), " schemas of anyOf holds"); });
    }
    if (node.one_of.empty()) return true;
    size_t count = 0;
    for (const NodeId schema : node.one_of) count += try_node(schema, value, place, seen);
    if (count == 1) return true;
    return fail(place, [&] { return str(count, " of the ", node.one_of.size(), " schemas of oneOf hold"); });
  }

  bool check_singles(const Node& node, const Value& value, const Place& place, Evaluated* seen) {
    if (node.reference != kNoNode && !check(node.reference, value, place, seen)) return false;
    if (node.negated != kNoNode && try_node(node.negated, value, place, nullptr))
      return fail(place, [&] { return str(describe(value), " is what `not` forbids"); });
    if (node.condition != kNoNode) {
      const bool holds = try_node(node.condition, value, place, seen);
      const NodeId schema = holds ? node.consequence : node.alternative;
      if (schema != kNoNode && !check(schema, value, place, seen)) return false;
    }
    for (const Dependency& dependency : node.dependencies) {
      const bool applies = dependency.schema != kNoNode && value.find(dependency.key) != nullptr;
      if (applies && !check(dependency.schema, value, place, seen)) return false;
    }
    return true;
  }

  bool check_unevaluated(const Node& node, const Value& value, const Place& place, Evaluated& seen) {
    for (size_t i = 0; i < value.items.size() && node.unevaluated_items != kNoNode; ++i) {
      if (seen.items[i]) continue;
      if (!check(node.unevaluated_items, value.items[i], {&place, {}, i, true}, nullptr)) return false;
      seen.items[i] = true;
    }
    for (size_t i = 0; i < value.members.size() && node.unevaluated_properties != kNoNode; ++i) {
      const Member& member = value.members[i];
      if (seen.members[i]) continue;
      if (!check(node.unevaluated_properties, member.value, {&place, member.key, 0, false}, nullptr))
        return false;
      seen.members[i] = true;
    }
    return true;
  }

  const Schema::Compiled& schema_;
  std::optional<std::string> fault_;
  int64_t steps_ = 0;
  int num_tries_ = 0, nesting_ = 0;
};

}  // namespace

std::optional<std::string> find_fault(const Schema& schema, const Value& instance) {
  return Validation(schema.compiled()).run(instance);
}

}  // namespace cohort::json_schema
