// Searches the lines of a run's completions for a text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cohort/records/completion_index.h"
#include "cohort/view/completion_query.h"

namespace cohort {

/// Whether a line has `text` in its prompt or completion, no matter the case. Throws FormatError for a line
/// that is no JSON object.
bool has_text(const std::string& line, const std::string& text);

/// The newest searches for text. Reading millions of lines takes minutes, so a search stops after some time,
/// and goes on when the same query comes again, whatever its order, offset and limit. Not thread-safe.
class TextSearches {
 public:
  /// Goes on with a search for `query.search_s`, then gives a page of all that it has found so far.
  /// `entries`: those of the last call, and maybe more behind them. `line_of` gives the line of an entry. It
  /// is called for entries that match all but the text: forward, or backward if the newest come first.
  CompletionPage find(std::span<const CompletionEntry> entries, const CompletionQuery& query,
                      const std::function<std::string(const CompletionEntry&)>& line_of);

  /// Forgets all searches. Call it if entries have changed.
  void clear() { searches_.clear(); }

 private:
  struct Search {
    CompletionQuery subject;  ///< without order, offset and limit
    bool is_backward = false;
    int64_t begin = 0, end = 0;     ///< the entries between them are searched
    std::vector<uint32_t> found{};  ///< numbers of entries that match

    bool is_complete(int64_t count) const { return begin == 0 && end == count; }
  };

  Search& search_for(const CompletionQuery& query, int64_t count);

  std::vector<Search> searches_;  ///< the last one is the newest
};

}  // namespace cohort
