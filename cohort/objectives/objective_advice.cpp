#include "cohort/objectives/objective_advice.h"

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/completion_weights.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/objectives/kl.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/ratio_level.h"
#include "cohort/objectives/scale.h"

namespace cohort {
namespace {

using Advice = std::vector<std::string>;

/// One ratio for all tokens of a completion.
bool has_sequence_ratio(const LossConfig& c) {
  return surrogate_of(c).traits().has_sequence_ratio || c.has_sequence_level();
}

void refuse_wrong(const LossConfig& loss, const AdvantageConfig& advantages) {
  if (find_credit_rule(advantages.credit).is_of_critic && loss.is_kl_in_loss() && loss.beta != 0.0 &&
      find_kl_estimator(loss.kl_estimator).has_zero_mean_gradient) {
    throw ConfigError(
        str("kl_estimator ", loss.kl_estimator,
            " in the loss has a gradient of mean 0: set kl_place = \"reward\", where the critic "
            "sees it"));
  }
}

void advise_on_ratio(const LossConfig& c, const AdvantageConfig& a, Advice& advice) {
  if (has_sequence_ratio(c) && a.has_token_advantages()) {
    advice.push_back(
        str("tokens have advantages of their own under one ratio of the sequence: set "
            "importance_sampling_level = \"sequence_token\" (arXiv:2507.18071 eq. 14)"));
  }
  if (find_ratio_level(c.importance_sampling_level).grows_with_length) {
    advice.push_back(
        "the product of a sequence's ratios grows or vanishes with its length: for long completions "
        "set importance_sampling_level = \"sequence\"");
  }
}

void advise_on_terms(const LossConfig& c, Advice& advice) {
  if (find_mismatch_mode(c.importance_sampling_mode).is_of_sequence) {
    advice.push_back(
        "importance_sampling_mode multiplies the weights of a whole sequence: the longer, the more are "
        "cut or dropped");
  }
  if (c.length_preference != 0.0 && !find_aggregation(c.aggregation).is_token_mean) {
    advice.push_back(
        "length_preference is defined on the mean over tokens (arXiv:2510.06870): set aggregation = "
        "\"token_mean\"");
  }
  if (c.dpo_coef != 0.0 && c.dpo_margin >= 1.0) {
    advice.push_back(
        str("dpo_margin is ", c.dpo_margin,
            ": rewards of 0 and 1 never differ by more, so that no pair is left; 0 takes all that differ"));
  }
}

void advise_on_kl(const LossConfig& c, Advice& advice) {
  if (c.beta == 0.0) return;
  if (c.is_kl_in_loss() && find_kl_estimator(c.kl_estimator).has_zero_mean_gradient) {
    advice.push_back(str(
        "kl_estimator ", c.kl_estimator,
        " in the loss has a gradient of mean 0: it restrains nothing; set kl_place = \"reward\", or k2 or "
        "k3"));
  }
  if (!c.is_kl_in_loss() && c.kl_keys.k3.use_bias_correction) {
    advice.push_back(
        "use_bias_correction_kl corrects a KL in the loss, and kl_place is reward: it does nothing");
  }
}

void advise_on_advantages(const LossConfig& c, const AdvantageConfig& a, Advice& advice) {
  const Baseline& baseline = find_baseline(a.baseline);
  if (find_scale(a.scale_rewards).is_often_zero) {
    advice.push_back(str("scale_rewards ", a.scale_rewards,
                         ": where more than half of a group has one reward, as with rewards of 0 "
                         "and 1, the deviation is 0 and the others' advantages are their distance / ",
                         a.scale_epsilon));
  }
  const CreditRule& credit = find_credit_rule(a.credit);
  if (credit.shares_by_entropy && a.entropy_shaping.sets_sides_apart()) {
    advice.push_back(
        "entropy_statistics signs makes the mean advantage of right completions 0, as of wrong ones: "
        "which of them are right is lost");
  }
  if (a.gamma != 1.0 && !credit.discounts) {
    advice.push_back(
        str("gamma is ", a.gamma, ", and credit ", a.credit, " discounts nothing: it does nothing"));
  }
  if (baseline.is_critic && c.value_coef == 0.0) {
    advice.push_back("value_coef is 0: the loss does not teach the critic");
  }
  if (baseline.reads_greedy && a.scale_rewards == "group") {
    advice.push_back(str("baseline ", a.baseline,
                         " is for rewards as they are (arXiv:2310.10505): set scale_rewards = \"none\""));
  }
}

}  // namespace

std::vector<std::string> check_objective(const ObjectiveSettings& settings) {
  LossConfig loss = settings.loss;
  const AdvantageConfig& advantages = settings.advantages;
  expand_loss_type(loss);
  check_loss_config(loss);
  check_advantage_config(advantages);
  COHORT_CHECK(loss.beta == advantages.beta && loss.kl_place == advantages.kl_place,
               "loss and advantages disagree on the KL");
  refuse_wrong(loss, advantages);
  Advice advice;
  advise_on_ratio(loss, advantages, advice);
  surrogate_of(loss).advise({loss, advantages}, advice);
  advise_on_terms(loss, advice);
  advise_on_kl(loss, advice);
  advise_on_advantages(loss, advantages, advice);
  return advice;
}

std::vector<std::string> objective_costs(const ObjectiveSettings& settings) {
  LossConfig c = settings.loss;
  expand_loss_type(c);
  const AdvantageConfig& a = settings.advantages;
  const SurrogateTraits surrogate = surrogate_of(c).traits();
  std::vector<std::string> costs;
  if (c.beta != 0.0 || c.is_anchored_to_ref() || (c.dpo_coef != 0.0 && !c.dpo_reference_free)) {
    costs.push_back("a forward pass with the reference weights, and their memory");
  }
  const Baseline& baseline = find_baseline(a.baseline);
  if (baseline.is_critic) {
    costs.push_back(
        "a critic: its weights, gradients and moments, a forward pass before and a backward in the update");
  }
  if (baseline.reads_greedy) costs.push_back("a greedy completion and its reward for each prompt");
  if (a.gfpo_k > 0) costs.push_back("completions that are sampled and scored and then not trained on");
  if (a.drop_pivot)
    costs.push_back("one completion of each group that is sampled and scored and not trained on");
  const bool has_entropies = reads_entropies(a) || c.top_entropy_quantile < 1.0;
  if (has_entropies || c.entropy_coef != 0.0) costs.push_back("the entropy of each token");
  if (c.is_anchored_to_sampler() || c.corrects_mismatch()) {
    costs.push_back("the sampler's log-probability of each token, kept with the rollout");
  }
  if (surrogate.is_of_groups || c.dpo_coef != 0.0) {
    costs.push_back("log-probabilities of a whole group before its backward pass");
  } else if (has_sequence_ratio(c) || surrogate.couples_tokens ||
             find_ratio_level(c.importance_sampling_level).couples_tokens) {
    costs.push_back("log-probabilities of a whole completion before its backward pass");
  }
  return costs;
}

}  // namespace cohort
