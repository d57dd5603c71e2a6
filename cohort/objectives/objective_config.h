// The settings of the objective, apart from its code so that reading a recipe needs no torch.
#pragma once

#include <optional>
#include <string>

#include "cohort/core/config.h"

namespace cohort {

/// The section `[objective]` of a recipe; names and defaults are TRL 1.16's.
struct ObjectiveConfig {
  std::string loss_type = "dapo";
  double beta = 0.0;
  double epsilon = 0.2;
  std::optional<double> epsilon_high;
  std::string scale_rewards = "group";
  std::string supervision = "outcome";
  int64_t num_iterations = 1;
  bool mask_truncated_completions = false;

  /// The upper clip half-width that holds: `epsilon_high`, or `epsilon` when that is unset.
  double upper_epsilon() const { return epsilon_high.value_or(epsilon); }

  void describe(FieldVisitor& f);
};

}  // namespace cohort
