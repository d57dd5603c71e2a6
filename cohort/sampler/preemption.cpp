// How the scheduler finds pages if none is free: from texts that nothing uses, from sequences that wait or
// that were admitted last, and from prompts whose completions don't run.
#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/sampler/scheduler.h"

namespace cohort {

/// Frees a page for running sequence `index`: of a text that nothing uses, of a sequence that waits, of a
/// later one that runs, of an idle prompt, or by preempting it (false).
bool Scheduler::make_room(int64_t index) {
  while (!find_free(1)) {
    if (evict_waiting_pages()) continue;
    if (running_.back() != index) {
      preempt_last();
    } else if (!evict_idle_prompt(-1)) {
      if (running_.size() == 1) {
        // It holds what it uses of its prompt.
        const int64_t prompt = sequences_[index].prompt;
        COHORT_CHECK(!prompts_[prompt].pages.empty(), "one sequence must fit");
        give_up_prompt(prompt);
        continue;
      }
      preempt_last();
      return false;
    }
  }
  return true;
}

/// Whether `count` pages are free, after the prefix cache gave up what it can.
bool Scheduler::find_free(int64_t count) {
  while (blocks_.num_free() < count && prefixes_.evict_one()) {
  }
  return blocks_.num_free() >= count;
}

void Scheduler::preempt_last() {
  const int64_t index = running_.back();
  running_.pop_back();
  SequenceState& sequence = sequences_[index];
  release(sequence.pages);
  sequence.num_cached = 0;
  PromptState& prompt = prompts_[sequence.prompt];
  --prompt.num_running;
  if (prompt.is_cached()) {
    sequence.state = State::kReady;
    ready_.push_front(index);
  } else {
    enqueue(index);
  }
  preempted_ = true;
  ++num_preemptions_;
}

/// Takes the pages of a sequence that is held or waits for more of them.
bool Scheduler::evict_waiting_pages() {
  for (const State state : {State::kHeld, State::kReady}) {
    for (int64_t index = std::ssize(sequences_) - 1; index >= 0; --index) {
      SequenceState& sequence = sequences_[index];
      if (sequence.state != state || sequence.pages.empty()) continue;
      release(sequence.pages);
      sequence.num_cached = 0;
      if (std::erase(ready_, index) > 0) enqueue(index);
      ++num_preemptions_;
      return true;
    }
  }
  return false;
}

/// Gives up the pages of a prompt none of whose completions runs; they wait for it again.
bool Scheduler::evict_idle_prompt(int64_t keep) {
  for (auto p = std::ssize(prompts_) - 1; p >= 0; --p) {
    const PromptState& prompt = prompts_[p];
    if (p == keep || prompt.pages.empty() || prompt.num_running > 0) continue;
    give_up_prompt(p);
    ++num_preemptions_;
    return true;
  }
  return false;
}

/// Completions that hold nothing of the prompt wait for it again, before all others.
void Scheduler::give_up_prompt(int64_t p) {
  PromptState& prompt = prompts_[p];
  release(prompt.pages);
  std::erase(prefilling_, p);
  prompt.num_cached = 0;
  const auto needs_prompt = [&](int64_t index) {
    return sequences_[index].prompt == p && sequences_[index].pages.empty();
  };
  for (const int64_t index : ready_) {
    if (needs_prompt(index)) sequences_[index].state = State::kWaiting;
  }
  std::erase_if(ready_, needs_prompt);
  const bool is_needed = std::ranges::any_of(
      prompt.sequences, [&](int64_t index) { return sequences_[index].state == State::kWaiting; });
  if (!is_needed || prompt.is_waiting) return;
  prompt.is_waiting = true;
  waiting_.push_front(p);
}

}  // namespace cohort
