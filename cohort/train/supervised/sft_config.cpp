#include "cohort/train/supervised/sft_config.h"

#include "cohort/train/run/common_checks.h"

namespace cohort {

void SftDataConfig::describe(FieldVisitor& f) {
  f("path", path,
    "JSONL files, plain, gzip or zstd, or patterns: `prompt` and `completion`, or `messages`, per line; "
    "required "
    "unless there is a `[[data.source]]`.",
    OnResume::kTaken);
  describe_rows(f, "Share of the prompts that is left out: those that `cohort train` would hold out.");
}

void SftLoopConfig::describe(FieldVisitor& f) {
  describe_length(f);
  f("sequences_per_step", sequences_per_step, "Lines of data in each update.", at_least(1));
  f("assistant_only_loss", assistant_only_loss,
    "Learn every assistant's message of a conversation; otherwise the last one alone.");
  describe_memory(f, kMicrobatchMeaning);
  f("router_aux_loss_coef", router_aux_loss_coef, kAuxLossMeaning, at_least(0.0));
  describe_saving(f, /*keeps_best=*/false);
}

void SftConfig::describe(FieldVisitor& f) {
  f("seed", seed, kSeedMeaning, at_least(0));
  f("model", model, kModelMeaning);
  f("lora", lora, kLoraMeaning);
  f("data", data, "What is trained on.");
  f("optimizer", optimizer, kOptimizerMeaning);
  f("train", train, "The loop: its length, memory and checkpoints.");
  f("run", run, kRunMeaning);
}

void validate(const SftConfig& config) {
  check_common_parts(config);
  check_length(config.train);
  check_lora(config.lora);
  if (config.lora.dropout != 0.0 && config.lora.use_dora) {
    throw ConfigError("lora.dropout does not go with lora.use_dora; set one of them");
  }
}

}  // namespace cohort
