#include "cohort/train/critic/critic_config.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"

namespace cohort {

void CriticConfig::describe(FieldVisitor& f) {
  f("kind", kind,
    "model, a model of its own with one score for each token; or head, one linear score of the policy's last "
    "hidden state, whose loss trains the policy's weights too.",
    one_of({"model", "head"}));
  f("path", path,
    "Hugging Face directory that a critic of kind model starts from: a language model, which gets a random "
    "score, or a classification model with one label, such as a reward model; `model.path` when empty.",
    OnResume::kSameFiles);
  f("lr", lr,
    "Peak learning rate of the critic's own weights; its schedule, gradient clipping and the rest of its "
    "AdamW "
    "are those of `[optimizer]`.",
    at_least(0.0));
  f("pretrain_steps", pretrain_steps,
    "First steps, which train the critic alone, on Monte-Carlo returns (value pre-training, "
    "arXiv:2503.01491; "
    "arXiv:2504.05118).",
    at_least(0));
  f("share_steps", share_steps,
    "Steps behind these over which objective.critic_share falls linearly to 0; from there on the critic is "
    "neither read nor trained, and advantages are those of group mean and std. 0 leaves the share as it is.",
    at_least(0));
}

CriticPhase critic_phase(const CriticConfig& config, double critic_share, int64_t index) {
  const int64_t done = index - 1 - config.pretrain_steps;  // steps that have trained the policy
  if (done < 0) return {.trains_policy = false, .share = critic_share};
  if (config.share_steps == 0) return {.share = critic_share};
  const double left = 1.0 - static_cast<double>(done) / static_cast<double>(config.share_steps);
  return {.share = critic_share * std::max(left, 0.0)};
}

int64_t critic_steps(const CriticConfig& config, int64_t num_steps) {
  if (config.share_steps == 0) return num_steps;
  return std::min(num_steps, config.pretrain_steps + config.share_steps);
}

ObjectiveSettings objective_in(const CriticPhase& phase, ObjectiveSettings settings, bool trains_head) {
  if (!trains_head) settings.loss.value_coef = 0.0;
  AdvantageConfig& a = settings.advantages;
  a.baseline_keys.critic.share = phase.share;
  if (!phase.trains_policy) a.baseline_keys.critic.value_lambda = 1.0;
  if (phase.share > 0.0) return settings;
  const AdvantageConfig group;
  a.baseline = group.baseline;
  a.scale_rewards = group.scale_rewards;
  a.credit = group.credit;
  a.token_whiten = group.token_whiten;
  a.baseline_keys.critic = group.baseline_keys.critic;
  return settings;
}

bool needs_critic(const ObjectiveSettings& settings) {
  return find_baseline(settings.advantages.baseline).is_critic;
}

void check_critic(const CriticConfig& config, const ObjectiveSettings& settings) {
  const double coefficient = settings.loss.value_coef;
  if (!needs_critic(settings)) {
    if (!(config == CriticConfig{}))
      throw ConfigError(
          "[critic] has no effect without a critic in the objective: set objective.preset = \"ppo\", or "
          "remove "
          "the table");
    if (coefficient != 0.0)
      throw ConfigError(
          "objective.value_coef has no effect without a critic: set baseline = \"critic\" and credit = "
          "\"gae\", or leave it at 0");
    return;
  }
  if (coefficient == 0.0)
    throw ConfigError(
        "objective.value_coef is 0, so that the critic would learn nothing: set it, to 0.1 say");
  if (settings.advantages.baseline_keys.critic.share == 0.0)
    throw ConfigError(
        "objective.critic_share is 0, so that the critic would do nothing: set objective.preset = \"grpo\"");
  if (config.is_head() && !config.path.empty())
    throw ConfigError(
        "critic.path has no effect on a head, which is on the policy: set critic.kind = \"model\", or remove "
        "it");
}

}  // namespace cohort
