// The recipe of `cohort sft`.
#pragma once

#include <cstdint>

#include "cohort/train/run/common_config.h"

namespace cohort {

struct SftDataConfig : HeldOutRowsConfig, LengthKey {
  void describe(FieldVisitor& f);
};

struct SftLoopConfig : LoopKeys, BalanceKeys, EvaluationKeys {
  int64_t sequences_per_step = 8;
  bool completion_only_loss = true;
  bool assistant_only_loss = false;

  void describe(FieldVisitor& f);
};

/// The recipe of `cohort sft`. TRL's learning rate for supervised training is 2e-5.
struct SftConfig {
  int64_t seed = 42;
  ModelConfig model;
  LoraConfig lora;
  SftDataConfig data;
  OptimizerConfig optimizer{.learning_rate = 2e-5};
  SftLoopConfig train;
  RunConfig run;

  void describe(FieldVisitor& f);
};

/// As for the other recipes.
void validate(const SftConfig& config);

}  // namespace cohort
