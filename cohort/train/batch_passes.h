// Packed passes over the completions of an update: which of them are forwarded, and how they are cut.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cohort/train/microbatches.h"
#include "cohort/train/packing.h"
#include "cohort/train/policy_loss.h"

namespace cohort {

/// Tokens of a completion that have a loss.
inline int64_t loss_length(const Completion& completion, const TrainedCompletion& trained) {
  return trained.is_masked ? 0 : static_cast<int64_t>(completion.token_ids.size());
}

inline bool has_tokens(const Completion& completion, const TrainedCompletion&) {
  return !completion.token_ids.empty();
}

inline bool has_loss(const Completion& completion, const TrainedCompletion& trained) {
  return loss_length(completion, trained) > 0;
}

/// The completions that must be forwarded, by prompt: `is_wanted(completion, trained)`.
template <typename F>
std::vector<PackGroup> forwarded_groups(std::span<const TrainedGroup> groups, F is_wanted) {
  std::vector<PackGroup> packed;
  for (const TrainedGroup& group : groups) {
    PackGroup pack{&group.group->prompt.token_ids, {}};
    for (size_t i = 0; i < group.completions.size(); ++i) {
      const Completion& completion = group.group->completions[i];
      const TrainedCompletion& trained = group.completions[i];
      if (is_wanted(completion, trained)) pack.completions.push_back(&completion);
    }
    if (!pack.completions.empty()) packed.push_back(std::move(pack));
  }
  return packed;
}

/// Calls f(i, batch) for each packed piece, the first with i = 0; see microbatches.h.
template <typename F>
void for_each_batch(const std::vector<std::vector<PackGroup>>& pieces, double balance,
                    const LossOptions& options, const Decoder& decoder, F f) {
  ActivationRecord* record =
      options.record != nullptr && options.record->holds_for(decoder) ? options.record : nullptr;
  for_each_microbatch(decoder, std::ssize(pieces), [&](int64_t i) {
    const bool repeats_prompt = i > 0 && pieces[i].front().prompt_ids == pieces[i - 1].back().prompt_ids;
    const auto batch = pack(pieces[i], decoder.options(), repeats_prompt, record);
    batch->input.recompute = options.recompute;
    batch->balance_experts(balance);
    f(i, *batch);
  });
}

}  // namespace cohort
