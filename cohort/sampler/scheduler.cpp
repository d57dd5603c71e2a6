#include "cohort/sampler/scheduler.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {

Scheduler::Scheduler(SchedulerLimits limits, const std::vector<int64_t>& prompt_lengths,
                     const std::vector<int64_t>& group_sizes, int64_t max_completion_length)
    : limits_(limits), numbers_(group_sizes), blocks_(limits.num_pages) {
  COHORT_CHECK(prompt_lengths.size() == group_sizes.size());
  for (size_t p = 0; p < prompt_lengths.size(); ++p) {
    const int64_t longest = std::min(max_completion_length, limits.max_positions - prompt_lengths[p]);
    const int64_t needed = pages_for_group(prompt_lengths[p], 1, longest);
    if (needed > limits.num_pages) {
      throw ConfigError(str("cache_tokens: ", limits.num_pages * kPageRows,
                            " tokens of cache do not hold a prompt of ", prompt_lengths[p],
                            " with a completion of ", longest, "; give at least ", needed * kPageRows));
    }
    PromptState prompt;
    prompt.length = prompt_lengths[p];
    prompt.num_unfinished = group_sizes[p];
    prompts_.push_back(std::move(prompt));
    for (int64_t g = 0; g < group_sizes[p]; ++g) {
      sequences_.emplace_back();
      sequences_.back().prompt = static_cast<int64_t>(p);
    }
    if (group_sizes[p] > 0) waiting_.push_back(static_cast<int64_t>(p));
  }
}

Schedule Scheduler::next() {
  Schedule schedule;
  preempted_ = false;
  grow_running();
  if (!preempted_) {
    admit_ready(schedule);
    if (ready_.empty()) start_prompts();
  }
  add_rows(schedule);
  return schedule;
}

int64_t Scheduler::own_pages(const SequenceState& s) const {
  return pages_for(end_position(s)) - prompts_[s.prompt].length / kPageRows;
}

void Scheduler::grow_running() {
  for (size_t i = 0; i < running_.size(); ++i) {
    const int64_t index = running_[i];
    SequenceState& sequence = sequences_[index];
    while (static_cast<int64_t>(sequence.pages.size()) < pages_for(end_position(sequence))) {
      if (blocks_.num_free() == 0 && !make_room(index)) break;
      sequence.pages.push_back(blocks_.allocate());
    }
  }
}

/// Frees a page for running sequence `index`: from a later sequence, an idle prompt, or by preempting it
/// (false).
bool Scheduler::make_room(int64_t index) {
  while (blocks_.num_free() == 0) {
    if (running_.back() != index) {
      preempt_last();
    } else if (!evict_idle_prompt(sequences_[index].prompt)) {
      COHORT_CHECK(running_.size() > 1, "one sequence must fit");
      preempt_last();
      return false;
    }
  }
  return true;
}

void Scheduler::preempt_last() {
  const int64_t index = running_.back();
  running_.pop_back();
  SequenceState& sequence = sequences_[index];
  release(sequence.pages);
  sequence.num_cached = 0;
  --prompts_[sequence.prompt].num_running;
  ready_.push_front(index);
  preempted_ = true;
  ++num_preemptions_;
}

/// Gives up the pages of a cached prompt none of whose completions runs; its completions wait for it again.
bool Scheduler::evict_idle_prompt(int64_t keep) {
  for (auto p = static_cast<int64_t>(prompts_.size()) - 1; p >= 0; --p) {
    PromptState& prompt = prompts_[p];
    if (p == keep || prompt.pages.empty() || prompt.num_running > 0) continue;
    release(prompt.pages);
    std::erase(prefilling_, p);
    std::erase_if(ready_, [&](int64_t index) { return sequences_[index].prompt == p; });
    prompt.num_cached = 0;
    waiting_.push_front(p);
    ++num_preemptions_;
    return true;
  }
  return false;
}

void Scheduler::admit_ready(Schedule& schedule) {
  while (!ready_.empty() && static_cast<int64_t>(running_.size()) < limits_.max_running) {
    const int64_t index = ready_.front();
    SequenceState& sequence = sequences_[index];
    PromptState& prompt = prompts_[sequence.prompt];
    const int64_t needed = own_pages(sequence);
    while (blocks_.num_free() < needed && running_.empty() && evict_idle_prompt(sequence.prompt)) {
    }
    if (blocks_.num_free() < needed) return;
    ready_.pop_front();
    const int64_t shared = prompt.length / kPageRows, tail = prompt.length % kPageRows;
    sequence.pages.assign(prompt.pages.begin(), prompt.pages.begin() + shared);
    for (const int64_t page : sequence.pages) blocks_.share(page);
    for (int64_t i = 0; i < needed; ++i) sequence.pages.push_back(blocks_.allocate());
    if (tail > 0) schedule.copies.push_back({prompt.pages[shared], sequence.pages[shared], tail});
    sequence.num_cached = prompt.length;
    ++prompt.num_running;
    running_.push_back(index);
  }
}

void Scheduler::start_prompts() {
  int64_t rows = 0;
  for (const int64_t p : prefilling_) rows += prompts_[p].length - prompts_[p].num_cached;
  while (!waiting_.empty() && rows < limits_.max_rows) {
    PromptState& prompt = prompts_[waiting_.front()];
    // One page more, so that a first completion can begin.
    if (blocks_.num_free() < pages_for(prompt.length) + 1) return;
    for (int64_t i = 0; i < pages_for(prompt.length); ++i) prompt.pages.push_back(blocks_.allocate());
    rows += prompt.length;
    prefilling_.push_back(waiting_.front());
    waiting_.pop_front();
  }
}

void Scheduler::add_rows(Schedule& schedule) {
  int64_t left = limits_.max_rows;
  for (const int64_t index : running_) {
    const SequenceState& sequence = sequences_[index];
    const int64_t end = end_position(sequence), count = std::min(left, end - sequence.num_cached);
    if (count == 0) break;
    schedule.rows.push_back({false, index, sequence.num_cached, count, sequence.num_cached + count == end});
    left -= count;
  }
  for (const int64_t p : prefilling_) {
    const PromptState& prompt = prompts_[p];
    const int64_t count = std::min(left, prompt.length - prompt.num_cached);
    if (count == 0) break;
    schedule.rows.push_back({true, p, prompt.num_cached, count, prompt.num_cached + count == prompt.length});
    left -= count;
  }
}

void Scheduler::advance(const Schedule& schedule) {
  for (const ScheduledRows& rows : schedule.rows) {
    if (!rows.is_prompt) {
      sequences_[rows.index].num_cached += rows.count;
      continue;
    }
    PromptState& prompt = prompts_[rows.index];
    prompt.num_cached += rows.count;
    if (!is_cached(prompt)) continue;
    std::erase(prefilling_, rows.index);
    for (int64_t index = numbers_.first(rows.index); index < numbers_.end(rows.index); ++index) {
      if (!sequences_[index].is_finished) ready_.push_back(index);
    }
  }
}

void Scheduler::finish(int64_t index) {
  SequenceState& sequence = sequences_[index];
  PromptState& prompt = prompts_[sequence.prompt];
  sequence.is_finished = true;
  if (std::erase(running_, index) > 0) --prompt.num_running;
  std::erase(ready_, index);
  release(sequence.pages);
  if (--prompt.num_unfinished == 0) release(prompt.pages);
}

void Scheduler::release(std::vector<int64_t>& pages) {
  for (const int64_t page : pages) blocks_.release(page);
  pages.clear();
}

}  // namespace cohort
