#include "cohort/sampler/tree_rollout.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"
#include "libs/common/random.h"

namespace cohort {

CompletionTree::CompletionTree(Engine& engine, TreeShape shape, int64_t num_completions, DrawAddress address,
                               End end)
    : engine_(engine),
      shape_(shape),
      num_completions_(num_completions),
      address_(address),
      end_(std::move(end)) {}

DrawAddress CompletionTree::address_of(int64_t sample) const {
  DrawAddress address = address_;
  address.sample += static_cast<uint64_t>(sample);
  return address;
}

/// The random numbers of a choice. No token is drawn at an address of as many words.
CounterRng CompletionTree::random_of(int64_t choice) const {
  return CounterRng(address_.seed,
                    {address_.step, address_.prompt, address_.sample, static_cast<uint64_t>(choice)});
}

void CompletionTree::begin(const std::vector<int32_t>& prompt_ids, SamplingParams params,
                           int64_t max_length) {
  segment_length_ = shape_.segment_length(params.max_completion_length);
  max_length_ = max_length;
  params.max_turn_length = segment_length_;
  const int64_t least = std::min(shape_.branches, num_completions_);
  const int64_t most = std::clamp(shape_.first_branches, least, num_completions_);
  CounterRng random = random_of(0);
  const int64_t count = least + static_cast<int64_t>(random.below(most - least + 1));
  for (int64_t sample = 0; sample < count; ++sample) {
    const RequestId id = engine_.add(
        {.token_ids = prompt_ids,
         .params = params,
         .address = address_of(sample),
         .on_end = [this](RequestId id, const Completion& completion) { end_segment(id, completion); },
         .is_held = true});
    places_[id] = sample;
    paths_.push_back({.id = id, .is_drawn = true});
  }
}

void CompletionTree::end_segment(RequestId id, const Completion& completion) {
  const int64_t sample = places_.at(id);
  Path& path = paths_[sample];
  path.is_drawn = false;
  path.num_tokens = std::ssize(completion.token_ids);
  path.is_stopped = completion.finish_reason == FinishReason::kStop;
  path.is_ended = path.is_stopped || path.num_tokens >= max_length_;
  if (!path.is_ended) return;
  ++num_new_ends_;
  end_(sample, completion, path.fork);
}

bool CompletionTree::grow() {
  if (std::ranges::any_of(paths_, &Path::is_drawn)) return true;
  std::vector<int64_t> going_on;
  for (int64_t i = 0; i < std::ssize(paths_); ++i) {
    if (!paths_[i].is_ended) going_on.push_back(i);
  }
  if (!going_on.empty()) {
    fork_at_segment_ends(going_on);
  } else if (room() > 0) {
    fork_ended();
  } else {
    for (const Path& path : paths_) engine_.cancel(path.id);
    return false;
  }
  num_new_ends_ = 0;
  return true;
}

/// What has ended leaves its branches to the others.
void CompletionTree::fork_at_segment_ends(const std::vector<int64_t>& going_on) {
  const int64_t num_paths = std::ssize(going_on);
  const int64_t wanted = shape_.branches * (num_paths + num_new_ends_) - num_paths;
  const int64_t num_forks = std::min(wanted, room());
  for (int64_t i = 0; i < num_paths; ++i) {
    const int64_t place = going_on[i];
    const int64_t num_segments = paths_[place].num_tokens / segment_length_;
    const int64_t own = num_forks / num_paths + (i < num_forks % num_paths ? 1 : 0);
    for (int64_t k = 0; k < own; ++k) fork(place, num_segments);
    engine_.resume(paths_[place].id, (num_segments + 1) * segment_length_);
    paths_[place].is_drawn = true;
  }
}

/// Those that stopped fork before those that were cut, each at the end of a segment of its own, or at the
/// prompt.
void CompletionTree::fork_ended() {
  std::vector<int64_t> ended;
  for (int64_t i = 0; i < std::ssize(paths_); ++i) ended.push_back(i);
  std::ranges::stable_partition(ended, [&](int64_t i) { return paths_[i].is_stopped; });
  for (const int64_t place : ended) {
    const auto num_places = static_cast<uint64_t>((paths_[place].num_tokens - 1) / segment_length_ + 1);
    CounterRng random = random_of(std::ssize(paths_));
    const auto num_segments = static_cast<int64_t>(random.below(num_places));
    const int64_t count = std::min(shape_.branches, room());
    for (int64_t k = 0; k < count; ++k) fork(place, num_segments);
  }
}

void CompletionTree::fork(int64_t path, int64_t num_segments) {
  const int64_t sample = std::ssize(paths_);
  const int64_t num_tokens = num_segments * segment_length_;
  const RequestId id = engine_.fork(paths_[path].id, num_tokens, address_of(sample));
  engine_.resume(id, num_tokens + segment_length_);
  places_[id] = sample;
  std::optional<ForkPlace> place;
  if (num_segments > 0) place = ForkPlace{.of = path, .num_segments = num_segments, .num_tokens = num_tokens};
  paths_.push_back({.id = id, .fork = place, .num_tokens = num_tokens, .is_drawn = true});
}

}  // namespace cohort
