#include "cohort/core/json_builder.h"

#include <algorithm>
#include <numeric>

#include "libs/common/long_integers.h"

namespace cohort {
namespace {

/// The pairs of an object, without the search for the key that ordered_map makes at every insertion.
using Members = std::vector<std::pair<const std::string, Json>>;

Members& members_of(Json& object) { return object.get_ref<Json::object_t&>(); }

/// A key that comes twice, or nothing.
std::optional<std::string> repeated_key_of(const Members& members) {
  std::vector<const std::string*> keys;
  keys.reserve(members.size());
  for (const auto& member : members) keys.push_back(&member.first);
  std::sort(keys.begin(), keys.end(), [](const auto* left, const auto* right) { return *left < *right; });
  const auto same = std::adjacent_find(keys.begin(), keys.end(),
                                       [](const auto* left, const auto* right) { return *left == *right; });
  if (same == keys.end()) return std::nullopt;
  return **same;
}

/// Of members with one key the last one's value, in the first one's place.
Members without_repeats(Members& members) {
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t left, size_t right) { return members[left].first < members[right].first; });
  std::vector<std::pair<size_t, size_t>> kept;  // place, and where the value is
  for (const size_t index : order) {
    if (!kept.empty() && members[kept.back().first].first == members[index].first) {
      kept.back().second = index;
    } else {
      kept.emplace_back(index, index);
    }
  }
  std::sort(kept.begin(), kept.end());
  Members result;
  result.reserve(kept.size());
  for (const auto& [place, value] : kept) {
    result.emplace_back(members[place].first, std::move(members[value].second));
  }
  return result;
}

}  // namespace

Json* JsonBuilder::place(Json value) {
  if (open_.empty()) {
    root_ = std::move(value);
    return &root_;
  }
  Json& parent = *open_.back();
  if (parent.is_array()) {
    parent.push_back(std::move(value));
    return &parent.back();
  }
  members_of(parent).emplace_back(std::move(keys_.back()), std::move(value));
  keys_.pop_back();
  return &members_of(parent).back().second;
}

bool JsonBuilder::add(Json value) {
  place(std::move(value));
  return true;
}

bool JsonBuilder::open(Json value) {
  open_.push_back(place(std::move(value)));
  return true;
}

bool JsonBuilder::number_float(number_float_t value, const string_t& token) {
  const std::string* integer = find_hidden(hidden_, token);
  return integer != nullptr ? add(make_integer(*integer)) : add(value);
}

bool JsonBuilder::key(string_t& key) {
  keys_.push_back(std::move(key));
  return true;
}

bool JsonBuilder::end_object() {
  Members& members = members_of(*open_.back());
  if (const auto repeated = repeated_key_of(members)) {
    if (!repeated_key_) repeated_key_ = repeated;
    Members unique = without_repeats(members);
    members.swap(unique);
  }
  open_.pop_back();
  return true;
}

bool JsonBuilder::end_array() {
  open_.pop_back();
  return true;
}

bool JsonBuilder::parse_error(size_t position, const std::string&, const Json::exception& error) {
  error_ = Error{position, error.what()};
  return false;
}

}  // namespace cohort
