// Filters, sorts and pages the completions of a run by its index.
#pragma once

#include <cstdint>
#include <functional>
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
};

enum class CompletionOrder : uint8_t { kLine, kStep, kReward, kAdvantage, kTokens, kSample, kPrompt };

struct CompletionQuery {
  ValueRange step{}, reward{}, advantage{}, tokens{};
  std::optional<std::string> prompt_id{};
  uint32_t flags = 0;  ///< CompletionFlag bits that all have to be set
  std::string text{};  ///< in prompt or completion, no matter the case; empty: not searched
  CompletionOrder order = CompletionOrder::kLine;
  bool is_descending = false;  ///< a value that is NaN is last in both directions
  int64_t offset = 0, limit = 100;
  std::optional<int64_t> resume{};  ///< of the page that a search for text ended with
  double search_s = 0.5;            ///< after which a search for text stops
};

struct CompletionPage {
  int64_t matched = 0;           ///< entries that match; of a search for text those that this call has found
  std::vector<uint32_t> rows{};  ///< numbers of entries, sorted, from `offset` on
  bool is_complete = true;       ///< false if a search for text has to go on from `resume`
  int64_t resume = 0;
};

/// Reads the parameters of /api/completions. Throws RequestError (400) naming the parameter.
CompletionQuery completion_query(const Query& query);

/// The names of the flags that are set, as the parameter `flag` takes them.
std::vector<std::string> flag_names(uint32_t flags);

/// `line_of` gives the line of an entry. It is called for entries that match all but the text, in the order
/// of their lines, the last line first if the newest come first; a search for text sorts what it has found.
CompletionPage find_completions(std::span<const CompletionEntry> entries, const CompletionQuery& query,
                                const std::function<std::string(const CompletionEntry&)>& line_of);

/// Whether a line has `text` in its prompt or completion, no matter the case. Throws FormatError for a line
/// that is no JSON object.
bool has_text(const std::string& line, const std::string& text);

}  // namespace cohort
