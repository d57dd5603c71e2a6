#include "cohort/objectives/loss_config.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/completion_weights.h"
#include "cohort/objectives/kl.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/ratio_level.h"

namespace cohort {
namespace {

struct LossTypeMeaning {
  std::string_view name, surrogate, aggregation, scope;
};

/// TRL 1.16's loss types (objective and normaliser of GRPOTrainer._compute_loss).
constexpr std::array<LossTypeMeaning, 8> kLossTypes = {{
    {"grpo", "ppo", "seq_mean_token_mean", "batch"},
    {"bnpo", "ppo", "token_mean", "micro_batch"},
    {"dr_grpo", "ppo", "seq_mean_token_sum_norm", "batch"},
    {"dapo", "ppo", "token_mean", "batch"},
    {"luspo", "ppo", "seq_mean_token_sum", "batch"},
    {"cispo", "cispo", "token_mean", "batch"},
    {"sapo", "sapo", "seq_mean_token_mean", "batch"},
    {"vespo", "vespo", "token_mean", "batch"},
}};

Limits loss_type_names() {
  Limits names = one_of({"none"});
  for (const LossTypeMeaning& type : kLossTypes) names.choices.emplace_back(type.name);
  return names;
}

void describe_surrogate(LossConfig& c, FieldVisitor& f) {
  f("loss_type", c.loss_type,
    "TRL's name for a surrogate and an aggregation together; none: those two keys say it. It overrides them.",
    loss_type_names());
  f("surrogate", c.surrogate, list_choices("A token's policy term.", surrogates()).c_str(),
    one_of_names(surrogates()));
  f("importance_sampling_level", c.importance_sampling_level,
    (list_choices("What the ratio of policy to anchor is taken over.", ratio_levels()) +
     " A sequence's ratio is the loss of each of its tokens: with seq_mean_token_mean a sequence counts "
     "once.")
        .c_str(),
    one_of_names(ratio_levels()));
  f("ratio_anchor", c.ratio_anchor,
    "Log-probabilities in the ratio's denominator: old, those before the update (the policy's own where none "
    "are given); sampler, the sampler's (old where none are given); ref, the reference's.",
    one_of({"old", "sampler", "ref"}));
}

void describe_clip(LossConfig& c, FieldVisitor& f) {
  f("epsilon", c.epsilon,
    "Lower clip half-width: of the ratio (ppo), of the log-ratio (gmpo), of the divergence (dppo).",
    above(0.0));
  f("epsilon_high", c.epsilon_high,
    "Upper clip half-width (arXiv:2503.14476 eq. 10), epsilon when not set; for cispo the cap of the weight "
    "itself.",
    above(0.0));
  f("clip_side", c.clip_side,
    "Which bounds ppo and gmpo have: both, upper (arXiv:2508.02833), lower or none.",
    one_of({"both", "upper", "lower", "none"}));
}

void describe_own_losses(LossConfig& c, FieldVisitor& f) {
  describe_surrogates(c, f);
  f("luffy_gamma", c.luffy_gamma,
    "Tokens of a demonstration have the policy term -A p / (p + luffy_gamma) (arXiv:2504.14945), without "
    "ratio, "
    "clip or mask.",
    above(0.0));
}

void describe_mismatch(LossConfig& c, FieldVisitor& f) {
  f("importance_sampling_mode", c.importance_sampling_mode,
    list_choices("The weight old / sampler on the policy term.", mismatch_modes()).c_str(),
    one_of_names(mismatch_modes()));
  f("importance_sampling_clip_min", c.importance_sampling_clip_min,
    "Lower bound of that weight; none when "
    "not set.",
    at_least(0.0));
  f("importance_sampling_clip_max", c.importance_sampling_clip_max, "Upper bound of that weight.",
    above(0.0));
}

void describe_kl(LossConfig& c, FieldVisitor& f) {
  f("beta", c.beta, "Weight of the KL divergence to the reference; at 0 no reference is needed.",
    at_least(0.0));
  f("kl_estimator", c.kl_estimator, list_choices("With x = log policy / reference.", kl_estimators()).c_str(),
    one_of_names(kl_estimators()));
  f("kl_place", c.kl_place,
    "loss: beta * KL is added to the policy term of each token; reward: the advantages have it, the loss "
    "adds nothing.",
    one_of({"loss", "reward"}));
  c.kl_keys.describe(f);
}

void describe_loss_filters(LossConfig& c, FieldVisitor& f) {
  f("off_policy_mask_threshold", c.off_policy_mask_threshold,
    "Leave out sequences of negative advantage whose mean of log(sampler or old / policy) is above this "
    "(arXiv:2512.02556 eq. 9).");
  f("top_entropy_quantile", c.top_entropy_quantile,
    "Share of the batch's tokens, those of highest entropy, that have a policy term (arXiv:2506.01939; the "
    "paper uses 0.2).",
    above_up_to(0.0, 1.0));
  f("log_ratio_min", c.log_ratio_min, "Leave out tokens whose log-ratio is below this (arXiv:2602.02276).");
  f("log_ratio_max", c.log_ratio_max, "Leave out tokens whose log-ratio is above this (arXiv:2602.02276).");
  f("clip_cov_ratio", c.clip_cov_ratio,
    "Clip-Cov: leave out this share of the batch's tokens, drawn from those whose covariance of advantage "
    "and "
    "log-probability lies within its bounds (arXiv:2505.22617; the paper uses 2e-4).",
    between(0.0, 1.0));
  f("clip_cov_min", c.clip_cov_min, "Clip-Cov's lower bound of the covariance.");
  f("clip_cov_max", c.clip_cov_max, "Clip-Cov's upper bound of the covariance.");
  f("second_moment_max", c.second_moment_max,
    "M2PO: leave out the tokens of largest squared log-ratio until the mean over the rest is at most this "
    "(arXiv:2510.01161).",
    above(0.0));
}

void describe_aggregation(LossConfig& c, FieldVisitor& f) {
  f("aggregation", c.aggregation, list_choices("How token losses become one.", aggregations()).c_str(),
    one_of_names(aggregations()));
  c.aggregation_keys.describe(f);
  f("max_completion_length", c.max_completion_length,
    "Tokens that seq_mean_token_sum_norm divides by and drpo_decoupled measures lengths with.", at_least(0));
  f("length_preference", c.length_preference,
    "lambda-GRPO's lambda, the exponent in the weight of a completion by its length: below 0 short ones "
    "weigh "
    "more, at 0 all alike (arXiv:2510.06870).");
}

void describe_regularisers(LossConfig& c, FieldVisitor& f) {
  f("entropy_coef", c.entropy_coef, "Weight of the mean entropy, which is subtracted from the loss.");
  f("log_ratio_penalty", c.log_ratio_penalty,
    "Weight of the squared log-ratio to the anchor, added to each token (arXiv:2602.02276).", at_least(0.0));
  f("kl_budget", c.kl_budget, "KL to the old policy, mean -(log policy / old), that costs nothing.",
    at_least(0.0));
  f("kl_budget_coef", c.kl_budget_coef,
    "Weight w of the penalty stop_gradient(max(w * (KL - kl_budget), 0)) * KL (arXiv:2510.04474).",
    at_least(0.0));
  f("kl_cov_ratio", c.kl_cov_ratio,
    "KL-Cov: share of the batch's tokens, those of highest covariance of advantage and log-probability, that "
    "pay kl_cov_coef * |log-ratio| (arXiv:2505.22617).",
    between(0.0, 1.0));
  f("kl_cov_coef", c.kl_cov_coef, "KL-Cov's weight.", at_least(0.0));
  f("value_coef", c.value_coef, "Weight of the critic's loss.", at_least(0.0));
  f("value_clip", c.value_clip, "How far a value may move from its old one within the critic's loss.",
    above(0.0));
}

void describe_pairs(LossConfig& c, FieldVisitor& f) {
  f("echo_coef", c.echo_coef,
    "ECHO's lambda: weight of the mean cross-entropy of the tokens that an environment's replies consist of "
    "(arXiv:2605.24517; the paper uses 0.05).",
    at_least(0.0));
  f("nll_coef", c.nll_coef, "Weight of the negative log-likelihood of some completions' tokens.",
    at_least(0.0));
  f("nll_on", c.nll_on,
    "Whose: positive, completions whose reward is above positive_threshold (arXiv:2504.05118); "
    "demonstration, those that another policy wrote (arXiv:2508.11408).",
    one_of({"positive", "demonstration"}));
  f("positive_threshold", c.positive_threshold, "A completion with a reward above this is right.");
  f("dpo_coef", c.dpo_coef,
    "Weight of DPO's loss on pairs of a group (arXiv:2305.18290; in a group's loss arXiv:2601.03661).",
    at_least(0.0));
  f("dpo_beta", c.dpo_beta, "DPO's beta.", above(0.0));
  f("dpo_margin", c.dpo_margin, "Rewards of a pair differ by more than this.", at_least(0.0));
  f("dpo_pairs", c.dpo_pairs, "all pairs of a group, or those of its best with its worst.",
    one_of({"all", "best_worst"}));
  f("dpo_length_normalized", c.dpo_length_normalized,
    "A completion's log-probability is the mean over its tokens, not the sum.");
  f("dpo_reference_free", c.dpo_reference_free, "Leave the reference out of DPO's log-ratios.");
}

void check_surrogate(const LossConfig& c) {
  const Surrogate& surrogate = surrogate_of(c);
  if (surrogate.traits().needs_token_level && !find_ratio_level(c.importance_sampling_level).is_of_token)
    throw ConfigError(
        str("surrogate ", c.surrogate, " has a ratio of its own: set importance_sampling_level = \"token\""));
  surrogate.check(c);
}

void check_kl(const LossConfig& c) {
  if (c.beta == 0.0 || !c.kl_keys.k3.use_bias_correction || !c.is_kl_in_loss()) return;
  if (!find_ratio_level(c.importance_sampling_level).is_of_token)
    throw ConfigError(str("use_bias_correction_kl with importance_sampling_level = \"",
                          c.importance_sampling_level,
                          "\": only the token's own ratio makes the KL gradient unbiased, so set one of them "
                          "otherwise, or beta = 0"));
  if (!find_kl_estimator(c.kl_estimator).has_bias_correction)
    throw ConfigError("use_bias_correction_kl corrects k3: set kl_estimator = \"k3\"");
}

void check_mismatch(const LossConfig& c) {
  if (c.corrects_mismatch() && c.is_anchored_to_sampler())
    throw ConfigError(
        "ratio_anchor = \"sampler\" corrects the mismatch already: set importance_sampling_mode = \"none\", "
        "or "
        "ratio_anchor = \"old\"");
}

}  // namespace

std::optional<double> LossConfig::lower_clip() const {
  return clip_side == "both" || clip_side == "lower" ? std::optional(epsilon) : std::nullopt;
}

std::optional<double> LossConfig::upper_clip() const {
  return clip_side == "both" || clip_side == "upper" ? std::optional(upper_epsilon()) : std::nullopt;
}

bool LossConfig::corrects_mismatch() const { return find_mismatch_mode(importance_sampling_mode).is_on; }

bool LossConfig::has_sequence_level() const {
  return find_ratio_level(importance_sampling_level).is_of_sequence;
}

void LossConfig::describe(FieldVisitor& f) {
  describe_surrogate(*this, f);
  describe_clip(*this, f);
  describe_own_losses(*this, f);
  describe_mismatch(*this, f);
  describe_kl(*this, f);
  describe_loss_filters(*this, f);
  describe_aggregation(*this, f);
  describe_regularisers(*this, f);
  describe_pairs(*this, f);
}

void expand_loss_type(LossConfig& config) {
  if (config.loss_type == "none") return;
  const auto* found = std::find_if(kLossTypes.begin(), kLossTypes.end(), [&](const LossTypeMeaning& type) {
    return type.name == config.loss_type;
  });
  COHORT_CHECK(found != kLossTypes.end(), "loss_type is ", config.loss_type);
  config.surrogate = found->surrogate;
  config.aggregation = found->aggregation;
  config.aggregation_keys.token_mean.scope = found->scope;
  config.loss_type = "none";
}

void check_loss_config(const LossConfig& given) {
  LossConfig config = given;
  expand_loss_type(config);
  check_surrogate(config);
  check_kl(config);
  check_mismatch(config);
  if (find_aggregation(config.aggregation).reads_max_completion_length && config.max_completion_length == 0)
    throw ConfigError(str("max_completion_length is not set: ", config.aggregation, " needs it"));
}

}  // namespace cohort
