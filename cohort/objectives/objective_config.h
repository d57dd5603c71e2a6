// The settings of the objective, apart from its code so that reading a recipe needs no torch.
#pragma once

#include <cstdint>
#include <string>

#include "cohort/core/config.h"
#include "cohort/objectives/control_config.h"
#include "cohort/objectives/presets.h"

namespace cohort {

/// The section `[objective]` of a recipe: an algorithm by name, and the keys of loss, advantages and
/// controls, which override what it sets.
struct ObjectiveConfig : ObjectiveSettings {
  std::string preset = "grpo";
  int64_t num_iterations = 1;
  bool mask_truncated_completions = false;
  bool gfpo_adaptive_difficulty = false;
  std::string python;             ///< a function in place of the loss; empty: none
  std::string python_advantages;  ///< a function in place of the advantages; empty: none
  ControlConfig control;

  void describe(FieldVisitor& f);
};

/// The settings that hold: `loss_type` is spelled out in the keys it stands for, keys that loss and
/// advantages share are the loss's, `beta` is the largest that some domain has, and `max_completion_length`
/// (tokens) is the rollout's where no preset set one.
ObjectiveSettings resolved(const ObjectiveConfig& config, int64_t max_completion_length);

/// Whether resolved settings read log-probabilities of a reference model.
bool needs_reference(const ObjectiveSettings& settings);

}  // namespace cohort
