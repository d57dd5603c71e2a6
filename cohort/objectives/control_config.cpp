#include "cohort/objectives/control_config.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/presets.h"

namespace cohort {
namespace {

void describe_coefficients(ControlConfig& c, FieldVisitor& f) {
  f("use_adaptive_entropy", c.use_adaptive_entropy,
    "Let entropy_coef, its first value, follow the entropy (arXiv:2505.22312): after each update it goes up "
    "by "
    "entropy_coef_delta where the mean entropy of the tokens with a bonus is at most entropy_target, else "
    "down, "
    "and it is applied only where the update before had at most that.");
  f("entropy_coef_min", c.entropy_coef_min, "Smallest entropy_coef of use_adaptive_entropy.");
  f("entropy_coef_max", c.entropy_coef_max, "Largest entropy_coef of use_adaptive_entropy.");
  f("entropy_coef_delta", c.entropy_coef_delta, "Step of use_adaptive_entropy.", above(0.0));
  f("entropy_target", c.entropy_target,
    "Mean entropy, in nats, that use_adaptive_entropy keeps the policy at; `entropy` of the first steps is a "
    "measure.",
    at_least(0.0));
  f("domain_beta", c.domain_beta,
    "The KL's weight for prompts by their column `domain`, in place of beta (arXiv:2512.02556): {math = 0.0, "
    "chat = 0.01}; other prompts keep beta.",
    at_least(0.0));
  f("use_adaptive_beta", c.use_adaptive_beta,
    "Let beta, its first value, follow the KL (arXiv:1909.08593): after each step it is multiplied by 1 + "
    "clip(kl / target_kl - 1, -0.2, 0.2) * completions / kl_horizon.");
  f("target_kl", c.target_kl, "Mean KL of a token, in nats, that use_adaptive_beta aims at.", above(0.0));
  f("kl_horizon", c.kl_horizon, "Completions over which use_adaptive_beta may change beta by a fifth.",
    above(0.0));
  f("use_policy_aware_weights", c.use_policy_aware_weights,
    "Move weight to those rewards of a category whose scores differ most within groups (POW3R, "
    "arXiv:2605.20164, reconstructed): a factor of each weight, 1 at first, moves after each step towards "
    "weight_factor_prior + (1 - weight_factor_prior) * variance / mean variance of the category. What the "
    "category weighs together stays.");
  f("weight_factor_prior", c.weight_factor_prior, "Share of the given weights in use_policy_aware_weights.",
    between(0.0, 1.0));
  f("weight_factor_decay", c.weight_factor_decay,
    "Share of its factor that a reward keeps at a step of use_policy_aware_weights.", between(0.0, 1.0));
  f("weight_factor_min", c.weight_factor_min, "Smallest factor of use_policy_aware_weights.",
    between(0.0, 1.0));
  f("weight_factor_max", c.weight_factor_max, "Largest factor of use_policy_aware_weights.", at_least(1.0));
  f("length_preference_learning_rate", c.length_preference_learning_rate,
    "Learn length_preference, its first value, by plain gradient descent on the loss with this rate "
    "(lambda-GRPO, arXiv:2510.06870, reconstructed: 0.1); 0 keeps it.",
    at_least(0.0));
}

}  // namespace

double ControlConfig::largest_beta(double beta) const {
  for (const auto& [domain, own] : domain_beta) beta = std::max(beta, own);
  return beta;
}

void ControlConfig::describe(FieldVisitor& f) {
  describe_coefficients(*this, f);
  f("sync_ref_model", sync_ref_model,
    "Move the reference towards the policy every ref_model_sync_steps updates (arXiv:2404.09656); otherwise "
    "it "
    "stays the model that the run started from.");
  f("ref_model_mixup_alpha", ref_model_mixup_alpha,
    "Share of the policy in sync_ref_model: reference = alpha * policy + (1 - alpha) * reference; 1 replaces "
    "it.",
    above_up_to(0.0, 1.0));
  f("ref_model_sync_steps", ref_model_sync_steps, "Updates between two moves of sync_ref_model.",
    at_least(1));
  f("use_demonstrations", use_demonstrations,
    "The column `demonstration` of each row, a string or the assistant's message, joins the prompt's "
    "group "
    "as one more completion, which another policy wrote: the same rewards judge it, it counts in the group's "
    "statistics, and its tokens have the loss of luffy_gamma (LUFFY, arXiv:2504.14945).");
}

std::string reader_of_old_logprobs(const ObjectiveSettings& settings) {
  const LossConfig& loss = settings.loss;
  const std::string& baseline = settings.advantages.baseline;
  if (settings.advantages.puts_kl_in_reward()) return "kl_place = \"reward\"";
  if (find_baseline(baseline).reads_old_logprobs) return str("baseline = \"", baseline, "\"");
  if (loss.kl_budget_coef != 0.0) return "kl_budget_coef";
  if (loss.off_policy_mask_threshold) return "off_policy_mask_threshold";
  if (loss.corrects_mismatch()) return "importance_sampling_mode";
  return "";
}

void check_demonstrations(const ObjectiveSettings& settings) {
  const std::string reader = reader_of_old_logprobs(settings);
  if (reader.empty()) return;
  throw ConfigError(str("objective.use_demonstrations: ", reader,
                        " reads log-probabilities of the policy that sampled, which demonstrations do "
                        "not have; remove one of them"));
}

void check_controls(const ControlConfig& control, const ObjectiveSettings& settings) {
  if (control.entropy_coef_min > control.entropy_coef_max) {
    throw ConfigError(str("objective.entropy_coef_min (", control.entropy_coef_min,
                          ") is above entropy_coef_max (", control.entropy_coef_max, "): swap them"));
  }
  if (control.use_adaptive_beta && !control.domain_beta.empty()) {
    throw ConfigError(
        "objective.use_adaptive_beta moves one beta, and domain_beta gives several: set one of them");
  }
  if (control.use_adaptive_beta && settings.loss.beta == 0.0) {
    throw ConfigError("objective.use_adaptive_beta multiplies beta, which is 0: set a beta to start from");
  }
  if (control.use_demonstrations) check_demonstrations(settings);
  const bool has_kl = settings.loss.beta != 0.0;
  if (control.sync_ref_model && !has_kl && !settings.loss.is_anchored_to_ref() &&
      (settings.loss.dpo_coef == 0.0 || settings.loss.dpo_reference_free)) {
    throw ConfigError(
        "objective.sync_ref_model has no effect: nothing reads a reference while beta is 0; set beta or "
        "remove "
        "it");
  }
}

}  // namespace cohort
