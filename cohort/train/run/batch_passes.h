// Packed passes over the samples of an update: which of them are forwarded, and how they are cut.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cohort/models/weight_snapshot.h"
#include "cohort/rl/batch.h"
#include "cohort/train/run/loss_result.h"
#include "cohort/train/run/microbatches.h"
#include "cohort/train/run/packing.h"

namespace cohort {

inline bool has_tokens(const Sample& sample) { return sample.completion.num_sampled() > 0; }

inline bool has_loss(const Sample& sample) { return sample.loss_length() > 0; }

/// The completions of the sequences with is_wanted(sequence), by prompt. Each carries its place among all
/// sequences of `groups`. Borrows `groups`.
template <typename F>
std::vector<PackGroup> forwarded_groups(std::span<const Group> groups, F is_wanted) {
  std::vector<PackGroup> packed;
  int64_t place = 0;
  for (const Group& group : groups) {
    PackGroup pack{&group.prompt.token_ids, {}};
    const bool has_tree = is_tree(group);
    for (const Sample& sample : group.samples) {
      for_each_sequence_of(sample, [&](const Sample& sequence) {
        if (is_wanted(sequence)) {
          PackedCompletion& packed = pack.completions.emplace_back(&sequence.completion, place);
          packed.is_branch = has_tree || &sequence != &sample;
          if (!sequence.prompt_ids.empty()) packed.prompt_ids = &sequence.prompt_ids;
        }
        ++place;
      });
    }
    if (!pack.completions.empty()) packed.push_back(std::move(pack));
  }
  return packed;
}

/// The sequences by their place among all of `groups`. Borrows `groups`.
template <typename GroupType>
auto samples_by_place(std::span<GroupType> groups) {
  std::vector<decltype(groups.front().samples.data())> samples;
  for_each_sequence(groups, [&](auto& sample) { samples.push_back(&sample); });
  return samples;
}

/// Calls f(i, batch) for each packed piece, the first with i = 0; see microbatches.h.
template <typename F>
void for_each_batch(const std::vector<std::vector<PackGroup>>& pieces, double balance,
                    const LossOptions& options, const WeightSnapshot& weights, F f) {
  const Decoder& decoder = weights.decoder();
  const ActivationRecord* record = options.record;
  if (record != nullptr && !record->holds_for(decoder, weights.adapters())) record = nullptr;
  for_each_microbatch(decoder, std::ssize(pieces), [&](int64_t i) {
    if (options.on_microbatch) options.on_microbatch();
    const bool repeats_prompt = i > 0 && pieces[i].front().prompt_ids == pieces[i - 1].back().prompt_ids;
    const auto batch = pack(pieces[i], decoder.options(), repeats_prompt, record);
    batch->input.adapters = weights.adapters();
    batch->input.recompute = options.recompute;
    batch->balance_experts(balance);
    f(i, *batch);
  });
}

}  // namespace cohort
