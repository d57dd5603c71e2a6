// Filters, sorts and pages the completions of a run by its index.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/records/completion_index.h"
#include "cohort/view/query.h"

namespace cohort {

/// Both ends count. A value that is NaN is in a range only if neither end was given.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool is_open() const { return low == -std::numeric_limits<double>::infinity() && high == -low; }
  bool contains(double value) const { return is_open() || (value >= low && value <= high); }
  bool operator==(const ValueRange&) const = default;
};

/// kPrompt: in the order in which the prompts first came.
enum class CompletionOrder : uint8_t { kLine, kStep, kReward, kAdvantage, kTokens, kSample, kPrompt };

/// Whether the order of the lines is also this order.
inline bool is_in_line_order(CompletionOrder order) {
  return order == CompletionOrder::kLine || order == CompletionOrder::kStep;
}

struct CompletionQuery {
  ValueRange step{}, reward{}, advantage{}, tokens{};
  std::optional<std::string> prompt_id{};
  uint32_t flags = 0;  ///< CompletionFlag bits that all have to be set
  std::string text{};  ///< in prompt or completion, no matter the case; empty: not searched
  CompletionOrder order = CompletionOrder::kLine;
  bool is_descending = false;  ///< a value that is NaN is last in both directions
  int64_t offset = 0, limit = 100;
  double search_s = 0.5;  ///< after which a search for text stops

  bool operator==(const CompletionQuery&) const = default;
};

struct CompletionPage {
  int64_t matched = 0;           ///< entries that match; of a search for text those that it has found so far
  std::vector<uint32_t> rows{};  ///< numbers of entries, sorted, from `offset` on
  bool is_complete = true;       ///< false if a search for text has to go on
  int64_t num_searched = 0;      ///< entries that have been compared with the query
};

/// Reads the parameters of /api/completions. Throws RequestError (400) naming the parameter.
CompletionQuery completion_query(const Query& query);

/// The names of the flags that are set, as the parameter `flag` takes them.
std::vector<std::string> flag_names(uint32_t flags);

/// Whether an entry matches all of a query but the text. The query has to outlive it.
class EntryFilter {
 public:
  explicit EntryFilter(const CompletionQuery& query);
  bool operator()(const CompletionEntry& entry) const;

 private:
  const CompletionQuery& query_;
  bool has_prompt_;
  uint64_t prompt_;
};

/// The query's page of those entries whose numbers are `matches`.
std::vector<uint32_t> sorted_page(std::span<const CompletionEntry> entries, std::span<const uint32_t> matches,
                                  const CompletionQuery& query);

/// The page of a query without a text.
CompletionPage find_completions(std::span<const CompletionEntry> entries, const CompletionQuery& query);

}  // namespace cohort
