// Both sets are cut at all endpoints of either. Between two neighbouring endpoints and at each of them a set
// holds all or nothing, so two sets are equal when they agree on each of these cells.
#include "libs/answers/internal/real_sets.h"

#include "libs/answers/internal/linear.h"
#include "libs/answers/internal/rewrite.h"

namespace cohort::answers {
namespace {

constexpr size_t kMaxEndpoints = 64;

// A set over cells: 2 * rank + 1 is the endpoint of that rank, 2 * rank the gap before it.
struct SetNode {
  enum class Kind { kInterval, kUnion, kIntersection, kDifference, kEither } kind = Kind::kInterval;
  size_t low = 0, high = 0;  // kInterval: numbers of endpoints
  bool is_low_closed = false, is_high_closed = false;
  std::vector<SetNode> parts;  // of kEither: of a union or an intersection, whichever makes sense
};

// x < 1, x > 2: inequalities behind commas alone, which may mean "and" or "or".
bool is_open_list(const Item& item) {
  if (!item.is(Kind::kList) || item.node().text != ",") return false;
  for (size_t i = 0; i < item.size(); ++i) {
    const Item part = item.child(i);
    const bool is_inequality =
        part.is(Kind::kRelation) && part.node().text.find_first_of("<>lg") != std::string::npos;
    if (!is_inequality) return false;
  }
  return true;
}

bool is_union(const Item& list) { return list.node().text == "or" || list.node().text == "plus-minus"; }

// What a set can't be made of; caught by compare_real_sets.
struct NoRealSet {
  const char* reason;
};

class Builder {
 public:
  Builder() { low_ = infinity(true), high_ = infinity(false); }

  SetNode build(const Item& item) {
    switch (item.node().kind) {
      case Kind::kTuple:
        return interval(item);
      case Kind::kSet:
        return finite(item);
      case Kind::kSymbol:
        return named(item);
      case Kind::kUnion:
        return combine(SetNode::Kind::kUnion, item);
      case Kind::kIntersection:
        return combine(SetNode::Kind::kIntersection, item);
      case Kind::kDifference:
        return combine(SetNode::Kind::kDifference, item);
      case Kind::kSetBuilder:
        if (!item.node().text.empty()) throw NoRealSet{"the values of an expression"};
        return build(item.child(0));
      case Kind::kMember:
        return build(item.child(1));
      case Kind::kRelation:
        return inequality(item);
      case Kind::kList:
        if (is_open_list(item)) return combine(SetNode::Kind::kEither, item);
        return combine(is_union(item) ? SetNode::Kind::kUnion : SetNode::Kind::kIntersection, item);
      default:
        throw NoRealSet{"not a set of real numbers"};
    }
  }

  // The rank of every endpoint in order; nothing where the order stays open.
  std::optional<std::vector<size_t>> rank(Work& work) const {
    std::vector<std::vector<size_t>> groups;
    for (size_t i = 0; i < endpoints_.size(); ++i) {
      size_t place = 0;
      bool is_known = false;
      for (; place < groups.size() && !is_known; ++place) {
        const std::optional<int> order = compare_order(endpoints_[i], endpoints_[groups[place][0]], work);
        if (!order) return std::nullopt;
        if (*order < 0) break;
        is_known = *order == 0;
        if (is_known) groups[place].push_back(i);
      }
      if (!is_known) groups.insert(groups.begin() + static_cast<int64_t>(place), {i});
    }
    std::vector<size_t> ranks(endpoints_.size());
    for (size_t group = 0; group < groups.size(); ++group) {
      for (size_t i : groups[group]) ranks[i] = group;
    }
    return ranks;
  }

 private:
  size_t add_endpoint(const Item& item) {
    if (endpoints_.size() >= kMaxEndpoints) throw NoRealSet{"too many endpoints"};
    endpoints_.push_back(item);
    return endpoints_.size() - 1;
  }

  size_t infinity(bool is_negative) {
    NodeId id = own_.add(Kind::kSymbol, "infinity");
    if (is_negative) id = own_.add(Kind::kNegate, "", {id});
    return add_endpoint({&own_, id});
  }

  size_t constant(const Fraction& value) {
    char* text = fmpz_get_str(nullptr, 10, fmpq_numref(value.get()));
    const bool is_negative = text[0] == '-';
    NodeId id = own_.add(Kind::kNumber, text + is_negative);
    flint_free(text);
    text = fmpz_get_str(nullptr, 10, fmpq_denref(value.get()));
    id = own_.add(Kind::kDivide, "", {id, own_.add(Kind::kNumber, text)});
    flint_free(text);
    if (is_negative) id = own_.add(Kind::kNegate, "", {id});
    return add_endpoint({&own_, id});
  }

  static SetNode between(size_t low, size_t high, bool is_low_closed, bool is_high_closed) {
    return {SetNode::Kind::kInterval, low, high, is_low_closed, is_high_closed, {}};
  }

  SetNode interval(const Item& item) {
    const std::string& brackets = item.node().text;
    if (item.size() != 2) throw NoRealSet{"not an interval"};
    const size_t low = add_endpoint(item.child(0));
    return between(low, add_endpoint(item.child(1)), brackets[0] == '[', brackets[1] == ']');
  }

  SetNode point(size_t endpoint) { return between(endpoint, endpoint, true, true); }

  SetNode finite(const Item& item) {
    SetNode result{SetNode::Kind::kUnion, 0, 0, false, false, {}};
    for (size_t i = 0; i < item.size(); ++i) result.parts.push_back(point(add_endpoint(item.child(i))));
    return result;
  }

  SetNode all() const { return between(low_, high_, false, false); }

  SetNode named(const Item& item) const {
    if (item.node().text == "reals") return all();
    if (item.node().text == "empty set") return {SetNode::Kind::kUnion, 0, 0, false, false, {}};
    throw NoRealSet{"not a set of real numbers"};
  }

  SetNode combine(SetNode::Kind kind, const Item& item) {
    SetNode result{kind, 0, 0, false, false, {}};
    for (size_t i = 0; i < item.size(); ++i) result.parts.push_back(build(item.child(i)));
    return result;
  }

  // The name of the only variable, which all inequalities of one comparison must share.
  void find_variable(const Item& item) {
    if (item.is(Kind::kSymbol) && !infinity_sign(item) && item.node().text != "pi" &&
        item.node().text != "e") {
      if (!variable_.empty() && variable_ != item.node().text) throw NoRealSet{"several unknowns"};
      variable_ = item.node().text;
    }
    for (size_t i = 0; i < item.size(); ++i) find_variable(item.child(i));
  }

  SetNode inequality(const Item& item) {
    find_variable(item);
    SetNode result{SetNode::Kind::kIntersection, 0, 0, false, false, {}};
    for (size_t i = 0; i + 1 < item.size(); ++i) {
      result.parts.push_back(half_line(item.child(i), item.node().text[i], item.child(i + 1)));
    }
    return result;
  }

  // |u| > c is u > c or u < -c, and |u| < c is both of u < c and u > -c.
  SetNode distance(const Item& size, char letter, const Item& bound) {
    if (contains_symbol(bound, variable_) || letter == '=' || letter == 'n')
      throw NoRealSet{"an inequality that is not linear"};
    const NodeId copy = copy_tree(*bound.tree, bound.id, own_);
    const Item opposite = {&own_, own_.add(Kind::kNegate, "", {copy})};
    const bool is_beyond = letter == '>' || letter == 'g';
    return {is_beyond ? SetNode::Kind::kUnion : SetNode::Kind::kIntersection,
            0,
            0,
            false,
            false,
            {half_line(size.child(0), letter, bound), half_line(size.child(0), mirrored(letter), opposite)}};
  }

  SetNode half_line(const Item& left, char letter, const Item& right) {
    if (left.is(Kind::kCall) && left.node().text == "abs") return distance(left, letter, right);
    if (right.is(Kind::kCall) && right.node().text == "abs") return distance(right, mirrored(letter), left);
    if (left.is(Kind::kSymbol) && left.node().text == variable_) return bounded(letter, add_constant(right));
    if (right.is(Kind::kSymbol) && right.node().text == variable_)
      return bounded(mirrored(letter), add_constant(left));
    const std::optional<Linear> a = find_linear(left, variable_), b = find_linear(right, variable_);
    if (!a || !b || a->slope == b->slope) throw NoRealSet{"an inequality that is not linear"};
    const Fraction slope = a->slope - b->slope;
    const size_t endpoint = constant((b->offset - a->offset) / slope);
    return bounded(slope.sign() > 0 ? letter : mirrored(letter), endpoint);
  }

  size_t add_constant(const Item& item) {
    if (contains_symbol(item, variable_)) throw NoRealSet{"an inequality that is not linear"};
    return add_endpoint(item);
  }

  static char mirrored(char letter) {
    switch (letter) {
      case '<':
        return '>';
      case '>':
        return '<';
      case 'l':
        return 'g';
      case 'g':
        return 'l';
      default:
        return letter;
    }
  }

  // The x with x `letter` endpoint.
  SetNode bounded(char letter, size_t endpoint) {
    if (letter == '<' || letter == 'l') return between(low_, endpoint, false, letter == 'l');
    if (letter == '>' || letter == 'g') return between(endpoint, high_, letter == 'g', false);
    if (letter == '=') return point(endpoint);
    return {SetNode::Kind::kDifference, 0, 0, false, false, {all(), point(endpoint)}};
  }

  Tree own_;  // endpoints that are nowhere written
  std::vector<Item> endpoints_;
  size_t low_ = 0, high_ = 0;
  std::string variable_;
};

bool contains(const SetNode& set, size_t cell, const std::vector<size_t>& ranks) {
  if (set.kind == SetNode::Kind::kInterval) {
    const size_t low = 2 * ranks[set.low] + 1, high = 2 * ranks[set.high] + 1;
    return (cell > low || (cell == low && set.is_low_closed)) &&
           (cell < high || (cell == high && set.is_high_closed));
  }
  if (set.kind == SetNode::Kind::kUnion) {
    for (const SetNode& part : set.parts) {
      if (contains(part, cell, ranks)) return true;
    }
    return false;
  }
  const bool is_difference = set.kind == SetNode::Kind::kDifference;
  for (size_t i = 0; i < set.parts.size(); ++i) {
    if (contains(set.parts[i], cell, ranks) == (is_difference && i > 0)) return false;
  }
  return true;
}

// Does the set hold every cell (or none, where `wanted` is false)?
bool is_uniform(const SetNode& set, bool wanted, const std::vector<size_t>& ranks, size_t num_ranks) {
  for (size_t cell = 2; cell + 2 <= 2 * num_ranks; ++cell) {
    if (contains(set, cell, ranks) != wanted) return false;
  }
  return true;
}

// Nothing satisfies both of x < 1, x > 2, and everything one of x > 1, x < 2: that was not meant.
void settle(SetNode& set, const std::vector<size_t>& ranks, size_t num_ranks) {
  for (SetNode& part : set.parts) settle(part, ranks, num_ranks);
  if (set.kind != SetNode::Kind::kEither) return;
  set.kind = SetNode::Kind::kIntersection;
  const bool is_empty = is_uniform(set, false, ranks, num_ranks);
  set.kind = SetNode::Kind::kUnion;
  if (is_empty) return;
  if (!is_uniform(set, true, ranks, num_ranks)) throw NoRealSet{"a comma that may mean \"and\" or \"or\""};
  set.kind = SetNode::Kind::kIntersection;
}

}  // namespace

bool is_real_set(const Item& item) {
  switch (item.node().kind) {
    case Kind::kUnion:
    case Kind::kIntersection:
    case Kind::kDifference:
      return true;
    case Kind::kSetBuilder:
      return item.node().text.empty();
    case Kind::kSymbol:
      return item.node().text == "reals";
    case Kind::kRelation:
      return item.node().text.find_first_of("<>lgn") != std::string::npos;
    case Kind::kMember:
      return is_real_set(item.child(1));
    case Kind::kList:
      break;
    default:
      return false;
  }
  if (is_open_list(item)) return true;
  // A comma means "and" before a condition such as x != 3.
  const bool has_connector = item.node().text != ",";
  for (size_t i = 0; i < item.size(); ++i) {
    const Item part = item.child(i);
    const bool is_condition = part.is(Kind::kMember) || (part.is(Kind::kRelation) && part.node().text == "n");
    if (is_real_set(part) && (has_connector || is_condition)) return true;
  }
  return false;
}

Verdict compare_real_sets(const Item& a, const Item& b, Work& work) {
  try {
    Builder builder;
    SetNode set_a = builder.build(a), set_b = builder.build(b);
    const std::optional<std::vector<size_t>> ranks = builder.rank(work);
    if (!ranks) return undecided("endpoints whose order is not known");
    // The first and the last rank are the infinities, which no set holds.
    const size_t num_ranks = *std::max_element(ranks->begin(), ranks->end()) + 1;
    settle(set_a, *ranks, num_ranks);
    settle(set_b, *ranks, num_ranks);
    for (size_t cell = 2; cell + 2 <= 2 * num_ranks; ++cell) {
      if (contains(set_a, cell, *ranks) != contains(set_b, cell, *ranks))
        return unequal("different sets of real numbers");
    }
    return equal("the same set of real numbers");
  } catch (const NoRealSet& failure) {
    return undecided(failure.reason);
  } catch (const TreeLimit&) {
    return undecided("sets that are too large");
  }
}

}  // namespace cohort::answers
