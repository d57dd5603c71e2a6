// The completions of several prompts, numbered one prompt after the other.
#pragma once

#include <cstdint>
#include <vector>

namespace cohort {

class SequenceNumbers {
 public:
  /// `group_sizes[p]` completions of prompt p.
  explicit SequenceNumbers(const std::vector<int64_t>& group_sizes) : firsts_(1, 0) {
    firsts_.reserve(group_sizes.size() + 1);
    for (const int64_t size : group_sizes) {
      prompts_.insert(prompts_.end(), size, static_cast<int64_t>(firsts_.size()) - 1);
      firsts_.push_back(firsts_.back() + size);
    }
  }

  int64_t size() const { return firsts_.back(); }

  /// The numbers of prompt p's completions are first(p), ..., end(p) - 1.
  int64_t first(int64_t prompt) const { return firsts_[prompt]; }
  int64_t end(int64_t prompt) const { return firsts_[prompt + 1]; }

  int64_t prompt_of(int64_t sequence) const { return prompts_[sequence]; }

  /// The place among its prompt's completions.
  int64_t sample_of(int64_t sequence) const { return sequence - firsts_[prompts_[sequence]]; }

 private:
  std::vector<int64_t> firsts_;   // one more than there are prompts
  std::vector<int64_t> prompts_;  // of each sequence
};

}  // namespace cohort
