// The recipe of `cohort dpo`: a model trained on preference pairs. Names and defaults are those of TRL 1.16's
// DPOConfig where it has one.
#pragma once

#include <cstdint>

#include "cohort/objectives/preference.h"
#include "cohort/train/run/common_config.h"

namespace cohort {

struct PreferenceDataConfig : HeldOutRowsConfig, LengthKey {
  void describe(FieldVisitor& f);
};

struct DpoLoopConfig : LoopKeys, BalanceKeys, EvaluationKeys {
  int64_t pairs_per_step = 8;
  bool precompute_ref_log_probs = false;

  void describe(FieldVisitor& f);
};

struct DpoConfig {
  int64_t seed = 42;
  ModelConfig model;
  LoraConfig lora;
  PreferenceDataConfig data;
  PreferenceConfig objective;
  OptimizerConfig optimizer;
  DpoLoopConfig train;
  RunConfig run;

  void describe(FieldVisitor& f);
};

/// As for the other recipes.
void validate(const DpoConfig& config);

}  // namespace cohort
