#include "cohort/train/preference/dpo_config.h"

#include "cohort/train/run/common_checks.h"

namespace cohort {

void PreferenceDataConfig::describe(FieldVisitor& f) {
  f("path", path,
    "JSONL files, plain, gzip or zstd, or patterns: `prompt`, `chosen` and `rejected` per line; required "
    "unless there is a `[[data.source]]`.",
    OnResume::kTaken);
  f("eval_path", eval_path, "Held-out JSONL files of the same form, judged every `train.eval_steps`.",
    OnResume::kTaken);
  describe_rows(
      f, "Share of the prompts, chosen by hash, that is held out and judged every `train.eval_steps`.");
}

void DpoLoopConfig::describe(FieldVisitor& f) {
  describe_length(f);
  f("pairs_per_step", pairs_per_step, "Lines of data in each update.", at_least(1));
  describe_memory(f,
                  "Rows (tokens) forwarded and backpropagated at once; a pair stays whole. Bounds memory, "
                  "changes no result.");
  f("precompute_ref_log_probs", precompute_ref_log_probs,
    "Compute the reference's log-probabilities of all rows before the first step, so that no second model "
    "stays in memory; changes no result.",
    OnResume::kTaken);
  f("router_aux_loss_coef", router_aux_loss_coef, kAuxLossMeaning, at_least(0.0));
  describe_evaluation(f);
  describe_saving(f);
}

void DpoConfig::describe(FieldVisitor& f) {
  f("seed", seed, kSeedMeaning, at_least(0));
  f("model", model, kModelMeaning);
  f("lora", lora,
    "Low-rank adapters on the frozen model (arXiv:2106.09685), in PEFT's format; the run's `final` is one. "
    "The reference is the model without them.");
  f("data", data, "What is trained and evaluated on.");
  f("objective", objective, "The loss on pairs.");
  f("optimizer", optimizer, kOptimizerMeaning);
  f("train", train, "The loop: its length, memory, evaluation and checkpoints.");
  f("run", run, kRunMeaning);
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
