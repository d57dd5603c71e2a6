// The losses that fit reward models, and their gradients over one batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/train/reward/reward_data.h"

namespace cohort {

struct RewardLossOptions {
  int64_t tokens_per_microbatch = 0;
  bool recompute = false;
  std::optional<double> center_rewards_coefficient{};
};

/// Over a batch. An item is a pair or a labelled step; a reward is a sequence's score or the probability that
/// a step is right (of its label 1).
struct RewardLoss {
  double loss = 0.0;
  int64_t num_items = 0;
  int64_t num_right = 0;    ///< pairs whose chosen one leads, steps whose likeliest label is theirs
  double margin_sum = 0.0;  ///< chosen less rejected, over pairs
  double reward_sum = 0.0;
  double reward_min = 0.0;
  double reward_max = 0.0;
  int64_t num_rewards = 0;
  int64_t num_tokens = 0;  ///< of all sequences, a prompt once for each
};

/// Adds the gradient of the batch's loss to the decoder's leaves where gradients are on. Pairs
/// (Bradley-Terry, arXiv:2203.02155 eq. 1, TRL's RewardTrainer):
///   mean over pairs of -log sigmoid(r_chosen - r_rejected - margin) + center (r_chosen + r_rejected)^2
/// Steps (TRL's PRMTrainer): mean over all labelled steps of the batch of the cross-entropy of their labels.
/// Stops behind the first micro-batch whose loss is not finite.
RewardLoss accumulate_reward_gradient(const Decoder& decoder, const std::vector<RewardExample>& batch,
                                      const RewardLossOptions& options);

}  // namespace cohort
