// Pages of the key/value cache: who holds which, counted by reference so that a group shares its prompt's
// pages.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/error.h"

namespace cohort {

constexpr int64_t kPageRows = 16;  ///< tokens per page

inline int64_t pages_for(int64_t num_tokens) { return (num_tokens + kPageRows - 1) / kPageRows; }

/// The most pages of a prompt and its completions: the prompt's, and the unshared ones of each completion.
inline int64_t pages_for_group(int64_t prompt_length, int64_t num_completions,
                               int64_t max_completion_length) {
  return pages_for(prompt_length) +
         num_completions * pages_for(prompt_length % kPageRows + max_completion_length);
}

class BlockManager {
 public:
  explicit BlockManager(int64_t num_pages) : references_(num_pages, 0) {
    for (int64_t page = num_pages - 1; page >= 0; --page) free_.push_back(page);
  }

  int64_t num_pages() const { return static_cast<int64_t>(references_.size()); }
  int64_t num_free() const { return static_cast<int64_t>(free_.size()); }

  /// How often `page` is held.
  int64_t num_holders(int64_t page) const { return references_.at(page); }

  /// A free page, held once. There must be one.
  int64_t allocate() {
    COHORT_CHECK(!free_.empty());
    const int64_t page = free_.back();
    free_.pop_back();
    references_[page] = 1;
    return page;
  }

  /// Holds `page` once more.
  void share(int64_t page) {
    COHORT_CHECK(references_.at(page) > 0);
    ++references_[page];
  }

  /// Gives up one hold; the last one frees the page.
  void release(int64_t page) {
    COHORT_CHECK(references_.at(page) > 0);
    if (--references_[page] == 0) free_.push_back(page);
  }

 private:
  std::vector<int64_t> references_;
  std::vector<int64_t> free_;
};

}  // namespace cohort
