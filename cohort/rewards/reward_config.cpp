#include "cohort/rewards/reward_config.h"

namespace cohort {

void RewardConfig::describe_common(FieldVisitor& f) {
  f("name", name, "Name in the metrics; the kind of reward too when `type` is empty.");
  f("type", type, "Kind of reward, such as accuracy, python or model: a type of docs/rewards.md.");
  f("weight", weight, "Factor in the weighted sum of a completion's rewards; 0 only logs it.");
  f("weight_at", weight_at,
    "In place of `weight`: its value at these steps, such as {1 = 0.0, 100 = 1.0}, with straight lines "
    "between them; evaluations use the last one.");
  f("category", category,
    "With objective.use_policy_aware_weights: weight moves between rewards of one category; all are of one "
    "where it is empty.");
  f("checks", checks,
    "The reward that this one, which has weight 0 and never trains, is held against: logs "
    "`rewards/NAME/gap`.");
  f("requires", required,
    "Another reward of the recipe: where that one is below 1 the score is 0, such as accuracy without "
    "format.");
  f("domains", domains,
    "The reward applies to rows whose column `domain` is one of these; to all when empty.");
  f("clip_min", clip_min, "Scores below count as this.");
  f("clip_max", clip_max, "Scores above count as this.");
}

}  // namespace cohort
