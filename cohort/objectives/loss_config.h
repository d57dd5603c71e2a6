// The settings of the loss, apart from its code so that reading a recipe needs no torch. Each orthogonal
// choice is one key; `loss_type` is TRL's bundle of two of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/core/config.h"
#include "cohort/objectives/loss_keys.h"
#include "cohort/objectives/surrogates.def"  // the surrogates' structs

namespace cohort {

/// The loss's part of a recipe's `[objective]`. Names and defaults are TRL 1.16's where it has the key (there
/// the mismatch keys have the prefix `vllm_`); the defaults together are GRPO without a KL term. Strings hold
/// one of the choices that `describe` lists.
struct LossConfig {
  std::string loss_type = "none";

  // What a token's loss is made of.
  std::string surrogate = "ppo";
  std::string importance_sampling_level = "token";
  std::string ratio_anchor = "old";
  double epsilon = 0.2;
  std::optional<double> epsilon_high;
  std::string clip_side = "both";
#define SURROGATE(id, Type, words) Type id;
#include "cohort/objectives/surrogates.def"
#undef SURROGATE
  double luffy_gamma = 0.1;

  // Mismatch of sampler and trainer.
  std::string importance_sampling_mode = "none";
  std::optional<double> importance_sampling_clip_min;
  std::optional<double> importance_sampling_clip_max = 3.0;

  // The KL divergence to the reference.
  double beta = 0.0;
  std::string kl_estimator = "k3";
  std::string kl_place = "loss";
  KlEstimatorKeys kl_keys{};

  // Tokens and sequences that the policy term leaves out.
  std::optional<double> off_policy_mask_threshold;
  double top_entropy_quantile = 1.0;
  std::optional<double> log_ratio_min;
  std::optional<double> log_ratio_max;
  double clip_cov_ratio = 0.0;
  double clip_cov_min = 1.0;
  double clip_cov_max = 5.0;
  std::optional<double> second_moment_max;

  // How token losses become one number.
  std::string aggregation = "seq_mean_token_mean";
  AggregationKeys aggregation_keys{};
  int64_t max_completion_length = 0;
  double length_preference = 0.0;

  // Terms beside the policy's.
  double entropy_coef = 0.0;
  double log_ratio_penalty = 0.0;
  double kl_budget = 0.0;
  double kl_budget_coef = 0.0;
  double kl_cov_ratio = 0.0;
  double kl_cov_coef = 1.0;
  double value_coef = 0.0;
  double value_clip = 0.2;
  double echo_coef = 0.0;
  double nll_coef = 0.0;
  std::string nll_on = "positive";
  double positive_threshold = 0.0;
  double dpo_coef = 0.0;
  double dpo_beta = 0.2;
  double dpo_margin = 0.0;
  std::string dpo_pairs = "all";
  bool dpo_length_normalized = true;
  bool dpo_reference_free = true;

  /// The upper clip half-width (for CISPO the cap itself) that holds: `epsilon_high`, or `epsilon` when that
  /// is unset.
  double upper_epsilon() const { return epsilon_high.value_or(epsilon); }

  /// The clip half-widths; none where `clip_side` leaves the side open.
  std::optional<double> lower_clip() const;
  std::optional<double> upper_clip() const;

  /// Whether the loss has the KL term where beta is not 0; otherwise the advantages have it.
  bool is_kl_in_loss() const { return kl_place == "loss"; }

  /// Whether the ratio is that of policy to reference, or to the sampler.
  bool is_anchored_to_ref() const { return ratio_anchor == "ref"; }
  bool is_anchored_to_sampler() const { return ratio_anchor == "sampler"; }

  /// Whether the policy term has the weights of `importance_sampling_mode`.
  bool corrects_mismatch() const;

  /// Whether the likelihood term is on completions by their rewards, not on demonstrations.
  bool is_nll_by_reward() const { return nll_on == "positive"; }

  /// Whether all tokens of a completion have one ratio by `importance_sampling_level`.
  bool has_sequence_level() const;

  void describe(FieldVisitor& f);
};

/// Writes what `loss_type` stands for into surrogate, aggregation and token_mean_scope and sets it to "none",
/// so that whoever applies settings in order can let later keys override; "none" changes nothing.
void expand_loss_type(LossConfig& config);

/// Throws ConfigError, naming the keys, for a combination whose loss cannot be computed or is known to be
/// wrong; policy_loss (loss.h) calls it.
void check_loss_config(const LossConfig& config);

}  // namespace cohort
