// Losses on preference pairs: DPO and its relatives, as TRL 1.16's DPOTrainer has them. Legend: P pairs,
// whose 2 P completions stand side by side, each chosen one before its rejected one; M tokens, packed.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/objectives/loss.h"

namespace cohort {

/// The `[objective]` of `cohort dpo`.
struct PreferenceConfig {
  double beta = 0.1;
  std::string loss_type = "sigmoid";
  double label_smoothing = 0.0;
  std::optional<double> ld_alpha{};
  bool reference_free = false;

  void describe(FieldVisitor& f);
};

/// A line of preference_losses.def.
struct PreferenceLoss {
  const char* name;
  const char* text;
  at::Tensor (*losses)(const at::Tensor& lead, const PreferenceConfig& config);  ///< see pair_losses
  bool is_per_token = false;  ///< a completion's score is divided by its tokens
  bool reads_label_smoothing = false;
};

/// In the order of preference_losses.def.
std::span<const PreferenceLoss> preference_losses();

/// Throws InternalError for an unknown name.
const PreferenceLoss& find_preference_loss(const std::string& name);

/// Throws ConfigError for a setting without effect.
void check_preference_config(const PreferenceConfig& config);

/// log p of each completion, [2 P] float64: the sum over its tokens, of which those behind the length of the
/// pair's shorter completion count `ld_alpha` (LD-DPO, arXiv:2409.06411). `logprobs` [M] carries the
/// gradient; `lengths` [2 P] add up to M.
at::Tensor sequence_logprobs(const at::Tensor& logprobs, const std::vector<int64_t>& lengths,
                             std::optional<double> ld_alpha);

/// The loss of each pair, [P] in the dtype of `lead`, which carries the gradient: how far the chosen
/// completion's score is ahead of the rejected one's.
///   sigmoid, sigmoid_norm  -log sigmoid(beta lead)                   arXiv:2305.18290 eq. 7; 2411.15124
///   hinge                  max(0, 1 - beta lead)                     arXiv:2305.10425
///   ipo                    (lead - 1 / (2 beta))^2                   arXiv:2310.12036 eq. 17
///   robust                 (-(1 - e) log sigmoid(beta lead) + e log sigmoid(-beta lead)) / (1 - 2 e),
///                          e = label_smoothing                       arXiv:2403.00409
at::Tensor pair_losses(const at::Tensor& lead, const PreferenceConfig& config);

struct PreferenceInput {
  at::Tensor policy_logprobs;  ///< [M], natural log; carries the gradient
  at::Tensor ref_sums{};  ///< [2 P] float64, the reference's sequence_logprobs; not read if reference_free
  std::vector<int64_t> lengths;        ///< [2 P] tokens of each completion
  std::optional<int64_t> num_pairs{};  ///< of the batch that this was cut from; absent: P
};

/// The mean over the batch's pairs of pair_losses. A completion's score is its log-ratio log p - log p_ref,
/// or log p where `reference_free`; of `ipo` and `sigmoid_norm` divided by its tokens. Metrics as TRL names
/// them: `rewards/*` of beta * score before that division, `logps/*` of log p. Throws InternalError for wrong
/// shapes.
LossOutput preference_loss(const PreferenceInput& input, const PreferenceConfig& config);

}  // namespace cohort
