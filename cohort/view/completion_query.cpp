#include "cohort/view/completion_query.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "libs/common/excerpt.h"
#include "libs/common/hash.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

constexpr int64_t kMostRows = 500;
constexpr int64_t kMostEntries = int64_t{1} << 32;

struct NamedFlag {
  const char* name;
  CompletionFlag flag;
};

constexpr NamedFlag kFlags[] = {{"cut", kIsCut},
                                {"masked", kIsMasked},
                                {"untrained", kIsUntrained},
                                {"failed", kHasFailedReward},
                                {"injected", kHasInjected},
                                {"demonstration", kIsDemonstration},
                                {"environment", kHasFailedEnvironment}};

struct NamedOrder {
  const char* name;
  CompletionOrder order;
};

constexpr NamedOrder kOrders[] = {
    {"order", CompletionOrder::kLine},    {"step", CompletionOrder::kStep},
    {"reward", CompletionOrder::kReward}, {"advantage", CompletionOrder::kAdvantage},
    {"tokens", CompletionOrder::kTokens}, {"sample", CompletionOrder::kSample},
    {"prompt", CompletionOrder::kPrompt}};

template <typename Named, size_t count>
const Named& find_named(const Named (&list)[count], const char* parameter, const std::string& name) {
  std::vector<std::string> names;
  for (const Named& each : list) {
    if (name == each.name) return each;
    names.emplace_back(each.name);
  }
  throw RequestError(400, str("parameter ", parameter, " is ", excerpt(name), "; the nearest name is \"",
                              nearest_name(name, names), "\""));
}

ValueRange range_of(const Query& query, const std::string& name) {
  ValueRange range;
  range.low = query.number(name + "_from").value_or(range.low);
  range.high = query.number(name + "_to").value_or(range.high);
  return range;
}

/// An entry's place in the query's order: what comes first has the smallest. The value's key is above the
/// entry's number, both reversed in a descending order. One word: there are millions of them.
using SortKey = uint64_t;

constexpr uint32_t kLast = std::numeric_limits<uint32_t>::max();

/// Ascends with the value; kLast for NaN.
uint32_t ascending_key(float value) {
  if (std::isnan(value)) return kLast;
  const auto bits = std::bit_cast<uint32_t>(value + 0.0F);  // no negative zero
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

/// Gives entries their keys in a query's order.
class SortKeys {
 public:
  SortKeys(std::span<const CompletionEntry> entries, const CompletionQuery& query)
      : entries_(entries), order_(query.order), is_descending_(query.is_descending) {
    if (order_ != CompletionOrder::kPrompt) return;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i == 0 || entries[i].prompt != entries[i - 1].prompt)
        prompt_places_.emplace(entries[i].prompt, static_cast<uint32_t>(prompt_places_.size()));
    }
  }

  SortKey operator()(uint32_t number) {
    const uint32_t key = ascending(entries_[number]);
    if (!is_descending_) return SortKey{key} << 32 | number;
    return SortKey{key == kLast ? kLast : kLast - 1 - key} << 32 | ~number;
  }

 private:
  uint32_t ascending(const CompletionEntry& entry) {
    switch (order_) {
      case CompletionOrder::kLine:
        return 0;
      case CompletionOrder::kStep:
        return entry.step;
      case CompletionOrder::kReward:
        return ascending_key(entry.reward);
      case CompletionOrder::kAdvantage:
        return ascending_key(entry.advantage);
      case CompletionOrder::kTokens:
        return entry.num_tokens;
      case CompletionOrder::kSample:
        return static_cast<uint32_t>(int64_t{entry.sample} - std::numeric_limits<int32_t>::min());
      case CompletionOrder::kPrompt:
        return place_of(entry.prompt);
    }
    return 0;
  }

  uint32_t place_of(uint64_t prompt) {
    if (last_prompt_.second == kLast || prompt != last_prompt_.first)
      last_prompt_ = {prompt, prompt_places_.at(prompt)};
    return last_prompt_.second;
  }

  std::span<const CompletionEntry> entries_;
  CompletionOrder order_;
  bool is_descending_;
  std::unordered_map<uint64_t, uint32_t> prompt_places_;
  std::pair<uint64_t, uint32_t> last_prompt_{0, kLast};  ///< completions of a prompt come together
};

/// The page of the entries with these keys, whose order is lost. The whole is not sorted.
std::vector<uint32_t> page_of(std::vector<SortKey> keys, const CompletionQuery& query) {
  const int64_t first = std::min(query.offset, std::ssize(keys));
  const int64_t end = std::min(first + query.limit, std::ssize(keys));
  if (first == end) return {};
  const auto begin = keys.begin();
  if (first > 0) std::nth_element(begin, begin + first, keys.end());
  if (end < std::ssize(keys)) std::nth_element(begin + first, begin + end, keys.end());
  std::sort(begin + first, begin + end);
  std::vector<uint32_t> rows;
  for (int64_t i = first; i < end; ++i) {
    const auto number = static_cast<uint32_t>(begin[i]);
    rows.push_back(query.is_descending ? ~number : number);
  }
  return rows;
}

}  // namespace

CompletionQuery completion_query(const Query& query) {
  query.check_known({"run", "step_from", "step_to", "reward_from", "reward_to", "tokens_from", "tokens_to",
                     "advantage_from", "advantage_to", "prompt_id", "flag", "text", "sort", "descending",
                     "offset", "limit"});
  CompletionQuery result;
  result.step = range_of(query, "step");
  result.reward = range_of(query, "reward");
  result.advantage = range_of(query, "advantage");
  result.tokens = range_of(query, "tokens");
  result.prompt_id = query.text("prompt_id");
  for (const std::string& name : query.texts("flag")) result.flags |= find_named(kFlags, "flag", name).flag;
  result.text = query.text("text").value_or("");
  result.order = find_named(kOrders, "sort", query.text("sort").value_or("order")).order;
  result.is_descending = query.flag("descending");
  result.offset = query.integer("offset", 0, kMostEntries).value_or(0);
  result.limit = query.integer("limit", 0, kMostRows).value_or(result.limit);
  return result;
}

std::vector<std::string> flag_names(uint32_t flags) {
  std::vector<std::string> names;
  for (const NamedFlag& each : kFlags) {
    if ((flags & each.flag) != 0) names.emplace_back(each.name);
  }
  return names;
}

EntryFilter::EntryFilter(const CompletionQuery& query)
    : query_(query),
      has_prompt_(query.prompt_id.has_value()),
      prompt_(has_prompt_ ? fnv1a(*query.prompt_id) : 0) {}

bool EntryFilter::operator()(const CompletionEntry& entry) const {
  return (entry.flags & query_.flags) == query_.flags && (!has_prompt_ || entry.prompt == prompt_) &&
         query_.step.contains(entry.step) && query_.tokens.contains(entry.num_tokens) &&
         query_.reward.contains(static_cast<double>(entry.reward)) &&
         query_.advantage.contains(static_cast<double>(entry.advantage));
}

std::vector<uint32_t> sorted_page(std::span<const CompletionEntry> entries, std::span<const uint32_t> matches,
                                  const CompletionQuery& query) {
  SortKeys key_of(entries, query);
  std::vector<SortKey> keys;
  keys.reserve(matches.size());
  for (const uint32_t number : matches) keys.push_back(key_of(number));
  return page_of(std::move(keys), query);
}

CompletionPage find_completions(std::span<const CompletionEntry> entries, const CompletionQuery& query) {
  const EntryFilter is_match(query);
  SortKeys key_of(entries, query);
  std::vector<SortKey> found;
  // Counted first: a vector that grows takes thrice the memory.
  found.reserve(static_cast<size_t>(std::ranges::count_if(entries, is_match)));
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (is_match(entries[i])) found.push_back(key_of(i));
  }
  const int64_t matched = std::ssize(found);
  return {.matched = matched, .rows = page_of(std::move(found), query), .num_searched = std::ssize(entries)};
}

}  // namespace cohort
