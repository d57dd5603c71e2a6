// Continuous batching: which tokens the next forward pass takes, and where their keys and values lie. No
// tensors here.
//
// Life of a completion: its group's prompt is prefilled once; every completion then shares the prompt's full
// pages and copies the partial last one. A completion that runs out of pages is preempted: it gives up its
// own pages and is forwarded again later. What is sampled never depends on any of this.
//
// Invariants: a page is held by the prompts and sequences that list it, each once; a running sequence has
// pages for all tokens that it has; when nothing runs, at most the pages of cached prompts are held.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "cohort/sampler/block_manager.h"
#include "cohort/sampler/sequence_numbers.h"

namespace cohort {

struct SchedulerLimits {
  int64_t num_pages;
  int64_t max_running = 256;                                    ///< completions decoded side by side
  int64_t max_rows = 2048;                                      ///< rows of one forward pass
  int64_t max_positions = std::numeric_limits<int64_t>::max();  ///< of a prompt with its completion
};

/// A run of tokens to forward, of a prompt or of a completion.
struct ScheduledRows {
  bool is_prompt;
  int64_t index;           ///< of the prompt, or of the sequence
  int64_t first_position;  ///< logical position of the first token
  int64_t count;
  bool reaches_end;  ///< the last row's logits give the next token
};

/// Rows of the cache to copy before the pass: the partial last page of a prompt, for a completion of its own.
struct PageCopy {
  int64_t source_page;
  int64_t target_page;
  int64_t num_rows;
};

struct Schedule {
  std::vector<PageCopy> copies;
  std::vector<ScheduledRows> rows;
};

class Scheduler {
 public:
  /// Prompts of `prompt_lengths[p]` tokens with `group_sizes[p]` completions each. The largest prompt with
  /// one completion of `max_completion_length`, as far as `max_positions` goes, must fit into the pages
  /// (ConfigError otherwise).
  Scheduler(SchedulerLimits limits, const std::vector<int64_t>& prompt_lengths,
            const std::vector<int64_t>& group_sizes, int64_t max_completion_length);

  /// How the sequences are numbered.
  const SequenceNumbers& numbers() const { return numbers_; }

  /// Decides the next pass; empty when all sequences are finished.
  Schedule next();

  /// Says that the rows of the last schedule are in the cache.
  void advance(const Schedule& schedule);

  /// Sequence `index` has one more token, which is not in the cache yet.
  void append_token(int64_t index) { ++sequences_[index].num_tokens; }

  /// Sequence `index` is complete: its pages are free, and its prompt's when it was the last of its group.
  void finish(int64_t index);

  /// Pages of a prompt or a sequence by logical position / kPageRows.
  const std::vector<int64_t>& prompt_pages(int64_t index) const { return prompts_[index].pages; }
  const std::vector<int64_t>& sequence_pages(int64_t index) const { return sequences_[index].pages; }

  int64_t num_preemptions() const { return num_preemptions_; }
  int64_t num_free_pages() const { return blocks_.num_free(); }

 private:
  struct PromptState {
    int64_t length = 0;
    std::vector<int64_t> pages;
    int64_t num_cached = 0;
    int64_t num_unfinished = 0;
    int64_t num_running = 0;
  };
  struct SequenceState {
    int64_t prompt = 0;
    int64_t num_tokens = 0;  ///< sampled so far
    int64_t num_cached = 0;  ///< logical positions in the cache, the prompt's included
    std::vector<int64_t> pages;
    bool is_finished = false;
  };

  bool is_cached(const PromptState& prompt) const { return prompt.num_cached == prompt.length; }
  int64_t end_position(const SequenceState& s) const { return prompts_[s.prompt].length + s.num_tokens; }
  int64_t own_pages(const SequenceState& s) const;

  void grow_running();
  bool make_room(int64_t index);
  void admit_ready(Schedule& schedule);
  void start_prompts();
  void add_rows(Schedule& schedule);
  void preempt_last();
  bool evict_idle_prompt(int64_t keep);
  void release(std::vector<int64_t>& pages);

  SchedulerLimits limits_;
  SequenceNumbers numbers_;
  BlockManager blocks_;
  std::vector<PromptState> prompts_;
  std::vector<SequenceState> sequences_;
  std::deque<int64_t> waiting_;      // prompts to prefill
  std::vector<int64_t> prefilling_;  // prompts with pages that are not cached yet
  std::deque<int64_t> ready_;        // sequences of cached prompts
  std::vector<int64_t> running_;     // sequences, in the order of admission
  bool preempted_ = false;           // in this pass: no admission until the next
  int64_t num_preemptions_ = 0;
};

}  // namespace cohort
