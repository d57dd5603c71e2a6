#include "cohort/train/supervised/sft_config.h"

#include "cohort/train/run/common_checks.h"

namespace cohort {

void SftDataConfig::describe(FieldVisitor& f) {
  describe_path(f, "`prompt` and `completion`, or `messages`, per line");
  describe_rows(f, "Share of the prompts that is left out: those that `cohort train` would hold out.");
}

void SftLoopConfig::describe(FieldVisitor& f) {
  describe_length(f);
  f("sequences_per_step", sequences_per_step, "Lines of data in each update.", at_least(1));
  f("assistant_only_loss", assistant_only_loss,
    "Learn every assistant's message of a conversation; otherwise the last one alone.");
  describe_memory(f);
  describe_balance(f);
  describe_saving(f, /*keeps_best=*/false);
}

void SftConfig::describe(FieldVisitor& f) {
  describe_model_sections(f, *this);
  f("data", data, "What is trained on.");
  describe_training_sections(f, *this);
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
