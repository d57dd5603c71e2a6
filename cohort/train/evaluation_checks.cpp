// The settings of evaluations that a run of `cohort train` can heed.
#include <algorithm>

#include "cohort/train/config_parts.h"
#include "cohort/train/evaluation.h"
#include "libs/common/nearest.h"

namespace cohort {

void check_evaluation(const TrainConfig& config) {
  check_held_out(config.data, config.train.eval_steps);
  check_evaluation_keys(config.train);
  const GrpoLoopConfig& train = config.train;
  for (const auto& [is_set, key] : {std::pair(train.num_generations_eval.has_value(), "num_generations_eval"),
                                    {train.temperature_eval.has_value(), "temperature_eval"},
                                    {train.top_p_eval.has_value(), "top_p_eval"}}) {
    refuse_without_evaluation(is_set && train.eval_steps == 0, key);
  }
  if (train.metric_for_best_model.empty()) return;
  std::vector<std::string> rewards;
  rewards.reserve(config.reward.size());
  for (const RewardConfig& reward : config.reward) rewards.push_back(reward.name);
  const std::vector<std::string> names =
      evaluation_metric_names(rewards, train.num_generations_eval.value_or(config.rollout.num_generations));
  if (std::find(names.begin(), names.end(), train.metric_for_best_model) == names.end()) {
    throw ConfigError(str("train.metric_for_best_model: evaluations have no metric \"",
                          train.metric_for_best_model, "\"; did you mean \"",
                          nearest_name(train.metric_for_best_model, names), "\"?"));
  }
}

}  // namespace cohort
