#include "cohort/sampler/scheduler.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// A free place of `values`, or a new one at its end.
template <typename T>
int64_t take_place(std::vector<T>& values, std::vector<int64_t>& free) {
  if (free.empty()) {
    values.emplace_back();
    return std::ssize(values) - 1;
  }
  const int64_t place = free.back();
  free.pop_back();
  values[place] = {};
  return place;
}

}  // namespace

Scheduler::Scheduler(SchedulerLimits limits)
    : limits_(limits), blocks_(limits.num_pages), prefixes_(blocks_) {}

void Scheduler::check_fits(int64_t prompt_length, int64_t max_completion_length) const {
  const int64_t longest = std::min(max_completion_length, limits_.max_positions - prompt_length);
  const int64_t needed = pages_for_group(prompt_length, 1, longest);
  if (needed <= limits_.num_pages) return;
  throw ConfigError(str("cache_tokens: ", limits_.num_pages * kPageRows,
                        " tokens of cache do not hold a prompt of ", prompt_length, " with a completion of ",
                        longest, "; give at least ", needed * kPageRows));
}

int64_t Scheduler::add(std::span<const int32_t> token_ids, int64_t owner) {
  std::pair<int64_t, std::vector<int32_t>> key(owner,
                                               std::vector<int32_t>(token_ids.begin(), token_ids.end()));
  const auto known = by_tokens_.find(key);
  int64_t prompt = 0;
  if (known != by_tokens_.end()) {
    prompt = known->second;
  } else {
    prompt = take_place(prompts_, free_prompts_);
    prompts_[prompt].token_ids = key.second;
    prompts_[prompt].owner = owner;
    by_tokens_.emplace(std::move(key), prompt);
  }
  const int64_t index = add_sequence(prompt);
  enqueue(index);
  return index;
}

int64_t Scheduler::add_sequence(int64_t prompt) {
  const int64_t index = take_place(sequences_, free_sequences_);
  sequences_[index].prompt = prompt;
  prompts_[prompt].sequences.push_back(index);
  return index;
}

int64_t Scheduler::fork(int64_t index, int64_t num_tokens) {
  const int64_t fork = add_sequence(sequences_[index].prompt);
  const SequenceState& source = sequences_[index];
  SequenceState& sequence = sequences_[fork];
  sequence.num_tokens = num_tokens;
  // At least the last token is forwarded, for the logits of the next one.
  const int64_t num_shared = std::min(source.num_cached, end_position(sequence) - 1) / kPageRows;
  if (num_tokens > 0 && !source.pages.empty()) {
    sequence.pages.assign(source.pages.begin(), source.pages.begin() + num_shared);
    for (const int64_t page : sequence.pages) blocks_.share(page);
    sequence.num_cached = num_shared * kPageRows;
  }
  enqueue(fork);
  return fork;
}

/// Lets a sequence wait for pages, or for its prompt where it has nothing of it.
void Scheduler::enqueue(int64_t index) {
  SequenceState& sequence = sequences_[index];
  if (!sequence.pages.empty() || prompts_[sequence.prompt].is_cached()) {
    sequence.state = State::kReady;
    ready_.push_back(index);
  } else {
    sequence.state = State::kWaiting;
    wait_for_prompt(sequence.prompt);
  }
}

void Scheduler::wait_for_prompt(int64_t prompt) {
  if (prompts_[prompt].is_waiting || std::ranges::find(prefilling_, prompt) != prefilling_.end()) return;
  prompts_[prompt].is_waiting = true;
  waiting_.push_back(prompt);
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

void Scheduler::grow_running() {
  for (size_t i = 0; i < running_.size(); ++i) {
    const int64_t index = running_[i];
    SequenceState& sequence = sequences_[index];
    while (std::ssize(sequence.pages) < pages_for(end_position(sequence))) {
      if (blocks_.num_free() == 0 && !make_room(index)) break;
      sequence.pages.push_back(blocks_.allocate());
    }
  }
}

/// The rows of the prompt that a sequence shares or copies. One without tokens forwards the prompt's last row
/// again, for the logits of its first token.
int64_t Scheduler::shared_rows(const SequenceState& s) const {
  return std::min(prompts_[s.prompt].length(), end_position(s) - 1);
}

void Scheduler::admit_ready(Schedule& schedule) {
  while (!ready_.empty() && std::ssize(running_) < limits_.max_running) {
    const int64_t index = ready_.front();
    SequenceState& sequence = sequences_[index];
    const bool has_pages = !sequence.pages.empty();
    const int64_t num_shared = has_pages ? std::ssize(sequence.pages) : shared_rows(sequence) / kPageRows;
    const int64_t needed = pages_for(end_position(sequence)) - num_shared;
    ready_.pop_front();  // so that its own pages are not taken
    sequence.state = State::kRunning;
    while (!find_free(needed) && running_.empty() &&
           (evict_waiting_pages() || evict_idle_prompt(has_pages ? -1 : sequence.prompt))) {
    }
    if (blocks_.num_free() < needed) {
      sequence.state = State::kReady;
      ready_.push_front(index);
      return;
    }
    if (!has_pages) share_prompt(sequence);
    while (std::ssize(sequence.pages) < pages_for(end_position(sequence)))
      sequence.pages.push_back(blocks_.allocate());
    if (const int64_t tail = sequence.num_cached % kPageRows; !has_pages && tail > 0) {
      schedule.copies.push_back(
          {prompts_[sequence.prompt].pages[num_shared], sequence.pages[num_shared], tail});
    }
    ++prompts_[sequence.prompt].num_running;
    running_.push_back(index);
  }
}

void Scheduler::share_prompt(SequenceState& sequence) {
  const std::vector<int64_t>& pages = prompts_[sequence.prompt].pages;
  sequence.num_cached = shared_rows(sequence);
  sequence.pages.assign(pages.begin(), pages.begin() + sequence.num_cached / kPageRows);
  for (const int64_t page : sequence.pages) blocks_.share(page);
}

void Scheduler::start_prompts() {
  int64_t rows = 0;
  for (const int64_t p : prefilling_) rows += prompts_[p].length() - prompts_[p].num_cached;
  while (!waiting_.empty() && rows < limits_.max_rows) {
    const int64_t p = waiting_.front();
    PromptState& prompt = prompts_[p];
    if (prompt.owner == -1) {
      // All but the last token at most, whose logits give the first one of each completion.
      prompt.pages = prefixes_.take(std::span(prompt.token_ids).first(prompt.length() - 1));
      prompt.num_cached = std::ssize(prompt.pages) * kPageRows;
    }
    // One page more, so that a first completion can begin.
    const int64_t needed = pages_for(prompt.length()) - std::ssize(prompt.pages) + 1;
    const bool is_idle = running_.empty() && prefilling_.empty();
    while (!find_free(needed) && is_idle && (evict_waiting_pages() || evict_idle_prompt(p))) {
    }
    if (blocks_.num_free() < needed) {
      release(prompt.pages);
      prompt.num_cached = 0;
      return;
    }
    while (std::ssize(prompt.pages) < pages_for(prompt.length())) prompt.pages.push_back(blocks_.allocate());
    rows += prompt.length() - prompt.num_cached;
    prefilling_.push_back(p);
    std::erase(waiting_, p);
    prompt.is_waiting = false;
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
    const int64_t count = std::min(left, prompt.length() - prompt.num_cached);
    if (count == 0) break;
    schedule.rows.push_back(
        {true, p, prompt.num_cached, count, prompt.num_cached + count == prompt.length()});
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
    if (!prompt.is_cached()) continue;
    std::erase(prefilling_, rows.index);
    prefixes_.insert(prompt.token_ids, prompt.pages);
    for (const int64_t index : prompt.sequences) {
      if (sequences_[index].state != State::kWaiting) continue;
      sequences_[index].state = State::kReady;
      ready_.push_back(index);
    }
  }
}

void Scheduler::hold(int64_t index) {
  SequenceState& sequence = sequences_[index];
  if (std::erase(running_, index) > 0) --prompts_[sequence.prompt].num_running;
  std::erase(ready_, index);
  sequence.state = State::kHeld;
}

void Scheduler::resume(int64_t index) {
  COHORT_CHECK(sequences_[index].state == State::kHeld);
  enqueue(index);
}

void Scheduler::remove(int64_t index, std::span<const int32_t> completion_ids) {
  hold(index);
  SequenceState& sequence = sequences_[index];
  const int64_t p = sequence.prompt;
  PromptState& prompt = prompts_[p];
  if (const int64_t known = sequence.num_cached - prompt.length(); known > 0 && !completion_ids.empty()) {
    std::vector<int32_t> text = prompt.token_ids;
    text.insert(text.end(), completion_ids.begin(), completion_ids.begin() + known);
    prefixes_.insert(text, sequence.pages);
  }
  release(sequence.pages);
  std::erase(prompt.sequences, index);
  free_sequences_.push_back(index);
  if (!prompt.sequences.empty()) return;
  release(prompt.pages);
  std::erase(prefilling_, p);
  std::erase(waiting_, p);
  by_tokens_.erase({prompt.owner, prompt.token_ids});
  free_prompts_.push_back(p);
}

void Scheduler::drop_cache() {
  prefixes_.clear();
  for (PromptState& prompt : prompts_) {
    release(prompt.pages);
    prompt.num_cached = prompt.num_running = 0;
  }
  running_.clear();
  ready_.clear();
  prefilling_.clear();
  for (PromptState& prompt : prompts_) {
    for (const int64_t index : prompt.sequences) {
      SequenceState& sequence = sequences_[index];
      release(sequence.pages);
      sequence.num_cached = 0;
      if (sequence.state != State::kHeld) enqueue(index);
    }
  }
}

void Scheduler::release(std::vector<int64_t>& pages) {
  for (const int64_t page : pages) blocks_.release(page);
  pages.clear();
}

}  // namespace cohort
