// Coefficients of the loss that move from update to update, or that differ by the prompt's domain.
#pragma once

#include <optional>

#include "cohort/core/json.h"
#include "cohort/objectives/objective_config.h"
#include "cohort/records/tensorboard.h"
#include "cohort/rl/types.h"
#include "cohort/train/grpo/policy_loss.h"

namespace cohort {

class Coefficients {
 public:
  explicit Coefficients(const ObjectiveConfig& config);

  /// The KL's weight for the completions of a prompt, where it is not the setting's for all.
  std::optional<double> beta(const Prompt& prompt) const;

  /// What the next update's loss takes in place of settings.
  LossCoefficients of_update() const;

  /// After an update that changed the weights: the entropy's weight takes a step (arXiv:2505.22312), the
  /// length preference one of gradient descent (arXiv:2510.06870).
  void after_update(const LossResult& loss);

  /// After a step: beta follows the mean KL of its tokens (arXiv:1909.08593); nan: there were none.
  void after_step(double kl, int64_t num_completions);

  /// `entropy_coef`, `beta` and `length_preference` as they stand, those that move.
  Metrics metrics() const;

  Json save() const;
  void load(const Json& state);

 private:
  ControlConfig config_;
  double beta_;
  double entropy_coef_;
  double entropy_;  // mean of the tokens with a bonus in the newest update
  double length_preference_;
};

}  // namespace cohort
