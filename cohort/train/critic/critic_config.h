// The settings of a critic, and what they say of each step; apart from its code so that reading a recipe
// needs no torch.
#pragma once

#include <cstdint>
#include <string>

#include "cohort/core/config.h"
#include "cohort/objectives/presets.h"
#include "cohort/train/run/common_config.h"

namespace cohort {

/// The section `[critic]` of a recipe. What its loss weighs, its clip and its share of the advantages stand
/// in
/// `[objective]`; its optimizer's other settings are the policy's.
struct CriticConfig {
  std::string kind = "model";
  std::string path{};
  double lr = 1e-5;
  int64_t pretrain_steps = 0;
  int64_t share_steps = 0;

  /// Whether it is on the policy; otherwise it is a model of its own.
  bool is_head() const { return kind == "head"; }

  bool operator==(const CriticConfig&) const = default;

  void describe(FieldVisitor& f);
};

/// All settings of a run that its critic reads.
struct CriticSetup {
  CriticConfig critic{};
  std::string policy_path{};  ///< of the policy's model, from which a critic without a path of its own starts
  int64_t seed = 0;
  ObjectiveSettings objective{};  ///< resolved
  OptimizerConfig optimizer{};    ///< the policy's
  int64_t tokens_per_microbatch = 0;
  bool recompute = false;
  int64_t gradient_slots = 1;
};

/// What a step does with the critic.
struct CriticPhase {
  bool trains_policy = true;
  double share = 1.0;  ///< of the critic in the advantages; at 0 it is neither read nor trained
};

/// The phase of step `index`, counted from 1: pre-training, then `critic_share`, which falls linearly to 0
/// over share_steps where these are set.
CriticPhase critic_phase(const CriticConfig& config, double critic_share, int64_t index);

/// Of the first `num_steps` steps those that use the critic.
int64_t critic_steps(const CriticConfig& config, int64_t num_steps);

/// The objective of a step in this phase. A critic in pre-training learns Monte-Carlo returns (lambda 1,
/// arXiv:2503.01491). At a share of 0, the advantages are those of group mean and std. Only a head that
/// trains with the policy adds the value loss to the policy's.
ObjectiveSettings objective_in(const CriticPhase& phase, ObjectiveSettings settings, bool trains_head);

/// Whether the advantages read a critic.
bool needs_critic(const ObjectiveSettings& settings);

/// Throws ConfigError for a critic that does nothing, and for settings of one where there is none.
void check_critic(const CriticConfig& config, const ObjectiveSettings& settings);

}  // namespace cohort
