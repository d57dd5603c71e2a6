#include "cohort/text/grammar/recognizer.h"

#include <algorithm>
#include <set>

#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr Recognizer::Position kUnknown = -2;

bool has_byte(const Grammar::Edge& edge, const std::bitset<256>& bytes) {
  for (Symbol symbol = edge.first; symbol <= std::min<Symbol>(edge.last, 255); ++symbol) {
    if (bytes[symbol]) return true;
  }
  return edge.last >= kFirstSpecial;
}

}  // namespace

Recognizer::Recognizer(const Grammar& grammar, const std::bitset<256>& bytes)
    : nodes_(grammar.nodes()), rules_(grammar.rules()), is_end_(nodes_.size()) {
  for (const Grammar::Ends& rule : rules_) is_end_[rule.end] = true;
  drop_dead_ends(bytes);
  find_classes(bytes);
  for (const Grammar::Ends& rule : rules_) closed({{rule.begin, -1}});  // throws for one that calls itself
  begin_ = find(closed({{rules_.front().begin, -1}}));
}

// What leads to no end of its rule would lead a completion to a place where no token is allowed.
void Recognizer::drop_dead_ends(const std::bitset<256>& bytes) {
  std::vector<bool> reaches = is_end_;
  const auto is_live_call = [&](const Grammar::Call& call) {
    return reaches[call.to] && reaches[rules_[call.rule].begin];
  };
  const auto is_live_edge = [&](const Grammar::Edge& edge) {
    return reaches[edge.to] && has_byte(edge, bytes);
  };
  bool is_changed = true;
  while (is_changed) {
    is_changed = false;
    for (size_t state = nodes_.size(); state-- > 0;) {
      const Grammar::Node& node = nodes_[state];
      if (reaches[state]) continue;
      reaches[state] = std::ranges::any_of(node.edges, is_live_edge) ||
                       std::ranges::any_of(node.skips, [&](Grammar::State to) { return reaches[to]; }) ||
                       std::ranges::any_of(node.calls, is_live_call);
      is_changed |= reaches[state];
    }
  }
  if (!reaches[rules_.front().begin])
    throw UserError("the tokens of the model cannot write any text that it allows");
  for (Grammar::Node& node : nodes_) {
    std::erase_if(node.edges, [&](const Grammar::Edge& edge) { return !is_live_edge(edge); });
    std::erase_if(node.skips, [&](Grammar::State to) { return !reaches[to]; });
    std::erase_if(node.calls, [&](const Grammar::Call& call) { return !is_live_call(call); });
  }
}

// Symbols that no edge tells apart are one class.
void Recognizer::find_classes(const std::bitset<256>& bytes) {
  std::set<Symbol> begins = {0, kFirstSpecial};
  for (const Grammar::Node& node : nodes_) {
    for (const Grammar::Edge& edge : node.edges) begins.insert({edge.first, edge.last + 1});
  }
  byte_classes_.assign(256, -1);
  int current = -1;
  Symbol begin_of_current = -1;
  for (Symbol byte = 0; byte < kFirstSpecial; ++byte) {
    if (!bytes[byte]) continue;
    const Symbol begin = *std::prev(begins.upper_bound(byte));
    if (begin != begin_of_current) {
      begin_of_current = begin;
      current = static_cast<int>(representatives_.size());
      representatives_.push_back(byte);
    }
    byte_classes_[byte] = current;
  }
  for (const Grammar::Node& node : nodes_) {
    for (const Grammar::Edge& edge : node.edges) {
      if (edge.first < kFirstSpecial || special_classes_.contains(edge.first)) continue;
      special_classes_[edge.first] = static_cast<int>(representatives_.size());
      representatives_.push_back(edge.first);
    }
  }
}

int Recognizer::class_of(Symbol symbol) const {
  if (symbol < kFirstSpecial) return byte_classes_[symbol];
  const auto found = special_classes_.find(symbol);
  return found == special_classes_.end() ? -1 : found->second;
}

int32_t Recognizer::frame(Frame frame) {
  const auto [place, is_new] = frame_numbers_.try_emplace(frame, static_cast<int32_t>(frames_.size()));
  if (is_new) frames_.push_back(frame);
  return place->second;
}

// Adds what skips, calls and returns reach. A call whose return is its own rule's end keeps no frame, so that
// lists written as recursion need none.
Recognizer::Places Recognizer::closed(const Places& begins) {
  std::set<Place> seen;
  Places places;
  const size_t most_frames = frames_.size() + 8 * nodes_.size();
  Places result;
  const auto reach = [&](Place place) {
    if (seen.insert(place).second) places.push_back(place);
  };
  for (const Place& begin : begins) reach(begin);
  while (!places.empty()) {
    const Place place = places.back();
    places.pop_back();
    const Grammar::Node& node = nodes_[place.state];
    const bool is_end = is_end_[place.state];
    if (!node.edges.empty() || (is_end && place.frame < 0)) result.push_back(place);
    for (const Grammar::State to : node.skips) reach({to, place.frame});
    for (const Grammar::Call& call : node.calls) {
      const bool is_last = is_end_[call.to] && nodes_[call.to].edges.empty() &&
                           nodes_[call.to].skips.empty() && nodes_[call.to].calls.empty();
      reach({rules_[call.rule].begin, is_last ? place.frame : frame({call.to, place.frame})});
    }
    if (is_end && place.frame >= 0) reach({frames_[place.frame].to, frames_[place.frame].parent});
    if (frames_.size() > most_frames)
      throw UserError("a definition refers to itself before anything is written; break the circle");
  }
  std::ranges::sort(result);
  return result;
}

Recognizer::Position Recognizer::find(const Places& places) {
  const auto [known, is_new] = numbers_.try_emplace(places, static_cast<Position>(positions_.size()));
  if (!is_new) return known->second;
  Known position{std::make_shared<const Places>(places),
                 std::vector<Position>(representatives_.size(), kUnknown), false, false};
  for (const Place& place : places) {
    position.may_end |= is_end_[place.state] && place.frame < 0;
    position.may_continue |= !nodes_[place.state].edges.empty();
  }
  positions_.push_back(std::move(position));
  return known->second;
}

Recognizer::Position Recognizer::next(Position position, Symbol symbol) {
  const int kind = class_of(symbol);
  if (kind < 0) return kDead;
  const Position known = positions_[position].next[kind];
  if (known != kUnknown) return known;
  const Symbol representative = representatives_[kind];
  Places places;
  for (const Place& place : *positions_[position].places) {
    for (const Grammar::Edge& edge : nodes_[place.state].edges) {
      if (edge.first <= representative && representative <= edge.last)
        places.push_back({edge.to, place.frame});
    }
  }
  const Position result = places.empty() ? kDead : find(closed(places));
  positions_[position].next[kind] = result;
  return result;
}

std::vector<int32_t> Recognizer::special_ids(Position position) const {
  std::set<int32_t> ids;
  for (const Place& place : *positions_[position].places) {
    for (const Grammar::Edge& edge : nodes_[place.state].edges) {
      if (edge.first >= kFirstSpecial) ids.insert(edge.first - kFirstSpecial);
    }
  }
  return {ids.begin(), ids.end()};
}

void Recognizer::forget() {
  const auto first = positions_[begin_].places;
  positions_.clear();
  numbers_.clear();
  begin_ = find(*first);
}

}  // namespace cohort
