#include "cohort/train/supervised/sft_config.h"

#include "cohort/train/run/common_checks.h"

namespace cohort {

void SftDataConfig::describe(FieldVisitor& f) {
  describe_path(f, "`prompt` and `completion`, or `messages`, or `text`, per line");
  describe_max_length(
      f, "Longest sequence, in tokens; longer ones are cut, and rows whose prompt fills it are left out.");
  describe_held_out_rows(f);
}

void SftLoopConfig::describe(FieldVisitor& f) {
  describe_length(f);
  f("sequences_per_step", sequences_per_step, "Lines of data in each update.", at_least(1));
  f("completion_only_loss", completion_only_loss,
    "Learn completions alone; false learns prompts, too, from their second token on. A row with `text` has "
    "no prompt.");
  f("assistant_only_loss", assistant_only_loss,
    "Learn every assistant's message of a conversation; otherwise the last one alone.");
  describe_memory(f);
  describe_balance(f);
  describe_evaluation(f);
  describe_saving(f);
}

void SftConfig::describe(FieldVisitor& f) {
  describe_model_sections(f, *this);
  f("data", data, "What is trained and evaluated on.");
  describe_training_sections(f, *this);
}

void validate(const SftConfig& config) {
  check_common_parts(config);
  check_length(config.train);
  check_lora(config.lora);
  check_held_out(config.data, config.train.eval_steps);
  check_evaluation_keys(config.train);
  if (config.train.assistant_only_loss && !config.train.completion_only_loss) {
    throw ConfigError(
        "train.assistant_only_loss does not go with train.completion_only_loss = false; set one of them");
  }
  if (config.lora.dropout != 0.0 && config.lora.use_dora) {
    throw ConfigError("lora.dropout does not go with lora.use_dora; set one of them");
  }
}

}  // namespace cohort
