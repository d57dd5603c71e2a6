#include "cohort/train/reward/reward_train_config.h"

#include "cohort/train/run/common_checks.h"

namespace cohort {

void HeadConfig::describe(FieldVisitor& f) {
  f("type", type,
    "The reward that is trained: model, one score of a completion from preferences; process, a label for "
    "each "
    "step. A language model gets a new head of that kind.",
    one_of({"model", "process"}));
  f("step_separator", step_separator, "For `process`: the text that ends a step.");
  f("center_rewards_coefficient", center_rewards_coefficient,
    "For `model`: weight of the squared sum of a pair's scores, which keeps their mean near 0 "
    "(arXiv:2312.09244 eq. 2); 0.01 is usual.",
    above(0.0));
}

void RewardDataConfig::describe(FieldVisitor& f) {
  describe_path(
      f,
      "for `model` `prompt`, `chosen` and `rejected`, for `process` `prompt`, `completions` (a list of "
      "steps) and `labels` per line");
  f("replay_path", replay_path, "Earlier files of the same form that are mixed in (iterative GRPO).");
  f("replay_share", replay_share,
    "Share of the rows that come from `replay_path`; a tenth as in arXiv:2402.03300 algorithm 1.",
    Limits{0.0, 1.0, true, true, {}});
  describe_max_length(f, "Longest prompt with a completion, in tokens; longer rows are left out.");
  describe_held_out_rows(f);
}

void RewardLoopConfig::describe(FieldVisitor& f) {
  describe_length(f);
  f("rows_per_step", rows_per_step, "Lines of data in each update.", at_least(1));
  describe_memory(f);
  describe_evaluation(f);
  describe_saving(f);
}

void RewardTrainConfig::describe(FieldVisitor& f) {
  describe_model_sections(f, *this);
  f("head", head, "What is fitted.");
  f("data", data, "What is trained and evaluated on.");
  describe_training_sections(f, *this);
}

void validate(const RewardTrainConfig& config) {
  check_common_parts(config);
  check_length(config.train);
  check_held_out(config.data, config.train.eval_steps);
  check_evaluation_keys(config.train);
  if (config.head.type == "process" && config.head.center_rewards_coefficient)
    throw ConfigError("head.center_rewards_coefficient has no effect on head.type = \"process\"; remove it");
  if (config.head.type == "model" && config.head.step_separator != HeadConfig().step_separator)
    throw ConfigError("head.step_separator has no effect on head.type = \"model\"; remove it");
  if (config.head.step_separator.empty()) throw ConfigError("head.step_separator is empty");
  const bool has_replay = !has_no_path(config.data.replay_path);
  if (!has_replay && config.data.replay_share != RewardDataConfig().replay_share)
    throw ConfigError("data.replay_share has no effect without data.replay_path");
  const std::vector<DataSourceConfig>& sources = config.data.source;
  if (has_replay && !sources.empty() && !sources.front().weight)
    throw ConfigError(
        "data.replay_path needs a weight for every [[data.source]]: the share is taken of these");
}

}  // namespace cohort
