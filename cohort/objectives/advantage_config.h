// How rewards become advantages: the settings of `advantages_of` (advantage_algebra.h), apart from its code
// so that reading a recipe needs no torch.
#pragma once

#include <cstdint>
#include <string>

#include "cohort/core/config.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/entropy_credit.h"

namespace cohort {

/// The keys of a recipe's `[objective]` and of Python's `cohort.objectives.advantages` that make advantages;
/// what several rewards weigh stands with the rewards (`AdvantageInput::reward_weights`). Defaults are
/// GRPO's with TRL 1.16's constants. `beta` and `kl_place` are keys of the loss too.
struct AdvantageConfig {
  std::string baseline = "group_mean";
  BaselineKeys baseline_keys{};
  std::string scale_rewards = "group";
  int64_t scale_ddof = 1;
  double scale_epsilon = 1e-4;
  std::string multi_objective_aggregation = "sum_then_normalize";
  bool batch_whiten = false;
  bool token_whiten = false;
  std::string credit = "sequence";
  double gamma = 1.0;
  double gae_lambda = 1.0;
  double gigpo_omega = 1.0;
  std::string kl_place = "loss";
  double beta = 0.0;
  int64_t gfpo_k = 0;
  std::string gfpo_metric = "length";
  bool drop_pivot = false;
  bool drop_truncated = false;
  bool length_corrected_rewards = false;
  bool rescale_informative = false;
  EntropyShaping entropy_shaping{};  ///< its ddof and epsilon are scale_ddof and scale_epsilon

  /// Whether the rewards pay for the divergence to the reference.
  bool puts_kl_in_reward() const { return kl_place == "reward" && beta != 0.0; }

  /// Whether each of several rewards has a baseline and a scale of its own.
  bool normalizes_each_reward() const { return multi_objective_aggregation == "normalize_then_sum"; }

  /// Whether the rewards are those of steps.
  bool is_stepwise() const;

  /// Whether tokens of one completion may have different advantages.
  bool has_token_advantages() const;

  void describe(FieldVisitor& f);
};

/// Whether the credit goes by the entropies of tokens.
bool reads_entropies(const AdvantageConfig& config);

/// Throws ConfigError naming the keys for combinations that mean nothing, such as generalised advantage
/// estimation without a critic; a value outside its limits is refused when it is read.
void check_advantage_config(const AdvantageConfig& config);

}  // namespace cohort
