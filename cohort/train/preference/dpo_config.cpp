#include "cohort/train/preference/dpo_config.h"

#include "cohort/train/run/common_checks.h"

namespace cohort {

void PreferenceDataConfig::describe(FieldVisitor& f) {
  describe_path(f, "`prompt`, `chosen` and `rejected` per line");
  describe_max_length(f,
                      "Longest prompt with a completion, in tokens; longer completions are cut, and rows "
                      "whose prompt fills it are left out.");
  describe_held_out_rows(f);
}

void DpoLoopConfig::describe(FieldVisitor& f) {
  describe_length(f);
  f("pairs_per_step", pairs_per_step, "Lines of data in each update.", at_least(1));
  describe_memory(f);
  f("precompute_ref_log_probs", precompute_ref_log_probs,
    "Compute the reference's log-probabilities of all rows before the first step, so that no second model "
    "stays in memory; changes no result.",
    OnResume::kTaken);
  describe_balance(f);
  describe_evaluation(f);
  describe_saving(f);
}

void DpoConfig::describe(FieldVisitor& f) {
  describe_model_sections(f, *this);
  f("data", data, "What is trained and evaluated on.");
  f("objective", objective, "The loss on pairs.");
  describe_training_sections(f, *this);
}

void validate(const DpoConfig& config) {
  check_common_parts(config);
  check_length(config.train);
  check_lora(config.lora);
  check_held_out(config.data, config.train.eval_steps);
  check_evaluation_keys(config.train);
  check_preference_config(config.objective);
  if (config.lora.dropout != 0.0)
    throw ConfigError(
        "lora.dropout must be 0 in `cohort dpo`: policy and reference are compared without noise");
  if (config.train.precompute_ref_log_probs && config.objective.reference_free) {
    throw ConfigError(
        "train.precompute_ref_log_probs has no effect with objective.reference_free = true; remove it");
  }
}

}  // namespace cohort
