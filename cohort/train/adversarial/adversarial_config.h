// The recipe of `cohort adversarial-train`: an attacker and a defender on one base model, each with its own
// adapter (AdvGRPO, arXiv:2606.09701).
#pragma once

#include <cstdint>
#include <string>

#include "cohort/train/grpo/train_config.h"

namespace cohort {

/// The keys that both policies have. They live in a recipe of `cohort train`, whose other keys are shared.
struct PolicyConfig {
  std::string adapter{};
  TrainConfig recipe{};

  void describe_policy(FieldVisitor& f);
};

struct AttackerConfig : PolicyConfig {
  void describe(FieldVisitor& f) { describe_policy(f); }
};

struct DefenderConfig : PolicyConfig {
  int64_t max_prompt_length = 512;

  void describe(FieldVisitor& f);
};

struct AdversarialDataConfig : HeldOutRowsConfig {
  void describe(FieldVisitor& f);
};

struct AdversarialLoopConfig : LoopKeys {
  int64_t alternate_steps = 10;
  bool log_completions = true;

  void describe(FieldVisitor& f);
};

/// The policies in the order in which they play.
enum class PolicyRole { kAttacker, kDefender };

struct AdversarialConfig {
  int64_t seed = 42;
  ModelConfig model;
  LoraConfig lora;
  AdversarialDataConfig data;
  AttackerConfig attacker;
  DefenderConfig defender;
  AdversarialLoopConfig train{{.tokens_per_microbatch = 0, .save_steps = 100}};
  RunConfig run;

  void describe(FieldVisitor& f);

  /// Takes the defaults of each policy's preset and of an adapter, as TrainConfig::apply_preset does.
  void apply_presets(const AdversarialConfig& given);

  /// What a policy is trained by, shared settings included. The two draw other random numbers.
  TrainConfig recipe_of(PolicyRole role) const;

  /// Whether the policy is trained in this step, counted from 1.
  bool trains(PolicyRole role, int64_t step) const;

  /// Of the attacker, or of the defender where the attacker's is constant.
  const std::string& lr_scheduler_type() const;

  /// Among the first `num_steps` steps, those that train the policy.
  int64_t steps_of(PolicyRole role, int64_t num_steps) const;
};

/// "attacker" or "defender".
const char* to_string(PolicyRole role);

/// As for the other recipes.
void validate(const AdversarialConfig& config);

}  // namespace cohort
