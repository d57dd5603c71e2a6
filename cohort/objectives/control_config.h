// Coefficients and a reference that move while a run goes on; settings apart from code, as in loss_config.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cohort/core/config.h"

namespace cohort {

struct ObjectiveSettings;

/// The part of a recipe's `[objective]` that only a run can heed. Names and defaults are TRL 1.16's where it
/// has the key.
struct ControlConfig {
  // The entropy bonus, arXiv:2505.22312.
  bool use_adaptive_entropy = false;
  double entropy_coef_min = 0.0;
  double entropy_coef_max = 1.0;
  double entropy_coef_delta = 0.005;
  double entropy_target = 0.2;

  // The weight of the KL divergence.
  std::map<std::string, double> domain_beta{};
  bool use_adaptive_beta = false;
  double target_kl = 0.1;
  double kl_horizon = 10000.0;

  // POW3R, arXiv:2605.20164.
  bool use_policy_aware_weights = false;
  double weight_factor_prior = 0.5;
  double weight_factor_decay = 0.9;
  double weight_factor_min = 0.25;
  double weight_factor_max = 4.0;

  // lambda-GRPO, arXiv:2510.06870.
  double length_preference_learning_rate = 0.0;

  // The reference.
  bool sync_ref_model = false;
  double ref_model_mixup_alpha = 0.6;
  int64_t ref_model_sync_steps = 512;

  // LUFFY, arXiv:2504.14945.
  bool use_demonstrations = false;

  /// The largest weight of the KL divergence that some completion may start with; `beta` is the setting.
  double largest_beta(double beta) const;

  void describe(FieldVisitor& f);
};

/// The setting that reads log-probabilities of the policy before the update besides the ratio; empty: none.
std::string reader_of_old_logprobs(const ObjectiveSettings& settings);

/// Throws ConfigError, naming the keys, for a control that has nothing to act on. `settings` are resolved.
void check_controls(const ControlConfig& control, const ObjectiveSettings& settings);

}  // namespace cohort
