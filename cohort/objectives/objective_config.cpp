#include "cohort/objectives/objective_config.h"

#include <set>
#include <variant>

namespace cohort {

void ObjectiveConfig::describe(FieldVisitor& f) {
  f("preset", preset,
    "An algorithm of `cohort objectives`: the defaults of the keys below, which override it, and of a few "
    "keys "
    "of a run.");
  f("num_iterations", num_iterations,
    "Passes over the completions of one generation (mu of arXiv:2402.03300).", at_least(1));
  f("mask_truncated_completions", mask_truncated_completions,
    "Leave completions that reached their length limit out of the loss (arXiv:2503.14476 section 3.4); their "
    "reward "
    "still counts in the group's statistics and they count as completions.");
  f("gfpo_adaptive_difficulty", gfpo_adaptive_difficulty,
    "Instead of gfpo_k keep 4, 6 or 8 completions by the prompt's mean reward among those of earlier groups: "
    "4 in the highest quarter, 6 in the next, 8 below (arXiv:2508.09726).");
  f("python", python,
    "\"FILE.py:NAME\" or \"MODULE:NAME\": a Python function over torch tensors in place of the loss; of the "
    "loss's keys `beta` alone acts, which gives the function the reference's log-probabilities.");
  f("python_advantages", python_advantages,
    "The same in place of the advantages, whose keys have no effect then.");
  Section parts;
  FieldVisitor visitor(parts);
  loss.describe(visitor);
  advantages.describe(visitor);
  control.describe(visitor);
  // The length is the rollout's; what both parts have is said once.
  std::set<std::string> seen = {"max_completion_length"};
  for (const Field& field : parts.fields) {
    if (!seen.insert(field.name).second) continue;
    std::visit([&](auto* value) { f(field.name.c_str(), *value, field.meaning.c_str(), field.limits); },
               field.value);
  }
}

ObjectiveSettings resolved(const ObjectiveConfig& config, int64_t max_completion_length) {
  ObjectiveSettings settings = config;
  expand_loss_type(settings.loss);
  settings.loss.beta = config.control.largest_beta(settings.loss.beta);
  settings.advantages.beta = settings.loss.beta;
  settings.advantages.kl_place = settings.loss.kl_place;
  if (settings.loss.max_completion_length == 0) settings.loss.max_completion_length = max_completion_length;
  return settings;
}

bool needs_reference(const ObjectiveSettings& settings) {
  const LossConfig& loss = settings.loss;
  return loss.beta != 0.0 || loss.is_anchored_to_ref() || (loss.dpo_coef != 0.0 && !loss.dpo_reference_free);
}

}  // namespace cohort
