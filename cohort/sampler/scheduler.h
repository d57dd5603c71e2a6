// Continuous batching: the tokens of the next forward pass, and the pages of their keys and values. No
// tensors here.
//
// Life of a completion ("sequence"): its prompt is prefilled once; every completion of the prompt then shares
// the prompt's full pages and copies the partial last one. A completion that runs out of pages is preempted:
// it gives up its own pages and is forwarded again later. A completion that ends gives its pages back, or is
// held with them until more tokens follow. Sampled tokens never depend on any of this.
//
// Invariants: a page is held by the prompts and sequences that list it, each once, and once by the prefix
// cache if that knows it; a running sequence has pages for all its tokens; when nothing runs, at most
// the pages of prompts, of held sequences and of the prefix cache are held.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "cohort/sampler/block_manager.h"
#include "cohort/sampler/prefix_cache.h"
#include "cohort/sampler/schedule.h"

namespace cohort {

struct SchedulerLimits {
  int64_t num_pages;
  int64_t max_running = 256;                                    ///< completions decoded side by side
  int64_t max_rows = 2048;                                      ///< rows of one forward pass
  int64_t max_positions = std::numeric_limits<int64_t>::max();  ///< of a prompt with its completion
};

class Scheduler {
 public:
  explicit Scheduler(SchedulerLimits limits);

  /// Throws ConfigError unless a prompt of this many tokens with one completion of `max_completion_length`,
  /// as far as `max_positions` goes, fits into the pages.
  void check_fits(int64_t prompt_length, int64_t max_completion_length) const;

  /// A new completion, without tokens, of the prompt `token_ids`; returns its index. It joins the prompt
  /// that has the same tokens and `owner`, if one is alive. A prompt whose `owner` is not -1 is forwarded
  /// whole; one of owner -1 takes the pages that the prefix cache has.
  int64_t add(std::span<const int32_t> token_ids, int64_t owner = -1);

  /// A new completion of the same prompt that has the first `num_tokens` tokens of sequence `index`; it
  /// shares the full pages of these.
  int64_t fork(int64_t index, int64_t num_tokens);

  /// Decides the next pass; empty when all sequences are finished or held.
  Schedule next();

  /// Tells the scheduler that the rows of the last pass are in the cache.
  void advance(const Schedule& schedule);

  /// Sequence `index` has `count` more tokens, which are not in the cache yet.
  void append_tokens(int64_t index, int64_t count = 1) { sequences_[index].num_tokens += count; }

  /// Sequence `index` waits with its pages until resume().
  void hold(int64_t index);
  void resume(int64_t index);

  /// Removes sequence `index`: frees its pages, and its prompt's if it was the last of its group. With
  /// `completion_ids` the prefix cache keeps the forwarded ones. A later sequence gets the index.
  void remove(int64_t index, std::span<const int32_t> completion_ids = {});

  /// Drops all keys and values, for changed weights. Running sequences are forwarded again.
  void drop_cache();

  int64_t prompt_of(int64_t index) const { return sequences_[index].prompt; }
  const std::vector<int32_t>& prompt_ids(int64_t prompt) const { return prompts_[prompt].token_ids; }

  /// The sequences of a prompt, in the order in which they were added.
  const std::vector<int64_t>& sequences_of(int64_t prompt) const { return prompts_[prompt].sequences; }

  /// Pages of a prompt or a sequence by logical position / kPageRows.
  const std::vector<int64_t>& prompt_pages(int64_t index) const { return prompts_[index].pages; }
  const std::vector<int64_t>& sequence_pages(int64_t index) const { return sequences_[index].pages; }

  int64_t num_preemptions() const { return num_preemptions_; }
  int64_t num_free_pages() const { return blocks_.num_free(); }
  int64_t num_cached_pages() const { return prefixes_.size(); }

 private:
  struct PromptState {
    std::vector<int32_t> token_ids;
    int64_t owner = -1;
    std::vector<int64_t> pages;
    int64_t num_cached = 0;
    int64_t num_running = 0;
    std::vector<int64_t> sequences;  ///< those that were not removed
    bool is_waiting = false;         ///< in waiting_
    int64_t length() const { return std::ssize(token_ids); }
    bool is_cached() const { return num_cached == length(); }
  };
  enum class State : uint8_t { kWaiting, kReady, kRunning, kHeld };
  struct SequenceState {
    int64_t prompt = 0;
    int64_t num_tokens = 0;  ///< of the completion
    int64_t num_cached = 0;  ///< logical positions in the cache, the prompt's included
    std::vector<int64_t> pages;
    State state = State::kWaiting;
  };

  int64_t end_position(const SequenceState& s) const { return prompts_[s.prompt].length() + s.num_tokens; }
  int64_t shared_rows(const SequenceState& s) const;
  int64_t add_sequence(int64_t prompt);
  void enqueue(int64_t index);
  void wait_for_prompt(int64_t prompt);

  void grow_running();
  void admit_ready(Schedule& schedule);
  void share_prompt(SequenceState& sequence);
  void start_prompts();
  void add_rows(Schedule& schedule);
  void release(std::vector<int64_t>& pages);

  // In preemption.cpp.
  bool make_room(int64_t index);
  bool find_free(int64_t count);
  void preempt_last();
  bool evict_waiting_pages();
  bool evict_idle_prompt(int64_t keep);
  void give_up_prompt(int64_t p);

  SchedulerLimits limits_;
  BlockManager blocks_;
  PrefixCache prefixes_;
  std::vector<PromptState> prompts_;      // alive if `sequences` is not empty
  std::vector<SequenceState> sequences_;  // those in free_sequences_ are not alive
  std::vector<int64_t> free_prompts_, free_sequences_;
  std::map<std::pair<int64_t, std::vector<int32_t>>, int64_t> by_tokens_;  // owner and tokens of live prompts
  std::deque<int64_t> waiting_;                                            // prompts to prefill
  std::vector<int64_t> prefilling_;  // prompts with pages that are not cached yet
  std::deque<int64_t> ready_;        // sequences of cached prompts
  std::vector<int64_t> running_;     // sequences, in the order of admission
  bool preempted_ = false;           // in this pass: no admission until the next
  int64_t num_preemptions_ = 0;
};

}  // namespace cohort
