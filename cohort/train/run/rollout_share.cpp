#include "cohort/train/run/rollout_share.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/rl/batch_fields.h"
#include "cohort/rl/byte_archive.h"

namespace cohort {
namespace {

/// The completions of `size`, which follow `before` others of `total`, that a process draws: [first, end).
std::pair<int64_t, int64_t> range_of(int64_t size, int64_t before, int64_t total, bool keeps_groups,
                                     int64_t rank, int64_t num_processes) {
  const auto rank_at = [&](int64_t completion) { return completion * num_processes / total; };
  if (keeps_groups) return {0, rank_at(before + size / 2) == rank ? size : 0};
  // The first completion of process r is the smallest c with c * P / total >= r.
  const auto begin_of = [&](int64_t r) { return (r * total + num_processes - 1) / num_processes; };
  const int64_t first = std::clamp<int64_t>(begin_of(rank) - before, 0, size);
  return {first, std::clamp<int64_t>(begin_of(rank + 1) - before, first, size)};
}

}  // namespace

RolloutShare whole_rollout(std::vector<Prompt> prompts, std::vector<int64_t> sizes, RolloutAddress address) {
  std::vector<int64_t> places(prompts.size());
  std::iota(places.begin(), places.end(), 0);
  return {std::move(prompts), std::move(sizes), std::move(address), std::move(places)};
}

RolloutShare joined(const RolloutShare& first, const RolloutShare& second) {
  RolloutShare both;
  both.address = {first.address.seed, first.address.step};
  for (const RolloutShare* share : {&first, &second}) {
    COHORT_CHECK(share->address.seed == both.address.seed && share->address.step == both.address.step);
    for (size_t i = 0; i < share->prompts.size(); ++i) {
      both.prompts.push_back(share->prompts[i]);
      both.sizes.push_back(share->sizes[i]);
      both.places.push_back(share->places[i]);
      both.address.prompts.push_back(share->address.prompt_number(i));
      both.address.first_samples.push_back(share->address.first_sample_of(i));
    }
  }
  return both;
}

RolloutShare share_of(const RolloutShare& whole, int64_t num_minibatches, bool keeps_groups, int64_t rank,
                      int64_t num_processes) {
  if (num_processes == 1) return whole;
  const int64_t count = std::ssize(whole.prompts);
  const int64_t part = count % num_minibatches == 0 ? count / num_minibatches : count;
  RolloutShare share{.address = whole.address};
  share.address.prompts.clear();
  share.address.first_samples.clear();
  for (int64_t begin = 0; begin < count; begin += part) {
    const auto first_size = whole.sizes.begin() + begin;
    const int64_t total = std::accumulate(first_size, first_size + part, int64_t{0});
    int64_t before = 0;
    for (int64_t place = begin; place < begin + part; ++place) {
      const int64_t size = whole.sizes[place];
      const auto [first, end] = range_of(size, before, total, keeps_groups, rank, num_processes);
      before += size;
      if (first == end) continue;
      share.prompts.push_back(whole.prompts[place]);
      share.sizes.push_back(end - first);
      share.places.push_back(place);
      share.address.prompts.push_back(whole.address.prompt_number(place));
      share.address.first_samples.push_back(whole.address.first_sample_of(place) +
                                            static_cast<uint64_t>(first));
    }
  }
  return share;
}

std::vector<Group> gather_groups(std::vector<Group> own, const RolloutShare& share, int64_t num_groups,
                                 dist::Group& processes) {
  if (processes.size() == 1) return own;
  ByteWriter writer;
  for (size_t i = 0; i < own.size(); ++i) {
    writer(share.places[i]);
    writer(fields_of(own[i]));
  }
  std::vector<Group> groups(num_groups);
  for (const std::string& bytes : processes.all_gather(writer.bytes, "the completions of a step")) {
    ByteReader reader(bytes);
    while (reader.num_left() > 0) {
      int64_t place = 0;
      std::string fields;
      reader(place);
      reader(fields);
      COHORT_CHECK(place >= 0 && place < num_groups);
      Group part = group_from(fields);
      Group& group = groups[place];
      if (group.samples.empty()) {
        group = std::move(part);
      } else {
        group.samples.insert(group.samples.end(), std::make_move_iterator(part.samples.begin()),
                             std::make_move_iterator(part.samples.end()));
      }
    }
  }
  return groups;
}

}  // namespace cohort
