#include "cohort/objectives/advantage_config.h"

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/objectives/scale.h"

namespace cohort {
namespace {

void advantages_need(bool holds, const char* reason) {
  if (!holds) throw ConfigError(reason);
}

void describe_statistics(FieldVisitor& f, AdvantageConfig& c) {
  f("baseline", c.baseline, list_choices("What is subtracted from a reward.", baselines()).c_str(),
    one_of_names(baselines()));
  c.baseline_keys.describe(f);
  f("scale_rewards", c.scale_rewards, list_choices("What centred rewards are divided by.", scales()).c_str(),
    one_of_names(scales()));
  f("scale_ddof", c.scale_ddof,
    "What is subtracted from the count in a variance: 1, Bessel's correction, or 0, that of a population.",
    between(0, 1));
  f("scale_epsilon", c.scale_epsilon, "Added to every standard or absolute deviation that divides.",
    at_least(0.0));
  f("multi_objective_aggregation", c.multi_objective_aggregation,
    "Several rewards: sum_then_normalize; or normalize_then_sum, each with its own baseline and scale "
    "(MO-GRPO, arXiv:2509.22047; with batch_whiten GDPO, arXiv:2601.05242).",
    one_of({"sum_then_normalize", "normalize_then_sum"}));
  f("batch_whiten", c.batch_whiten,
    "Second stage: advantages of completions minus their mean over the batch, by their standard deviation "
    "(GDPO, arXiv:2601.05242).");
  f("token_whiten", c.token_whiten,
    "The same over all tokens of the batch, so that long completions weigh more (PPO, REINFORCE++).");
}

void describe_credit(FieldVisitor& f, AdvantageConfig& c) {
  f("credit", c.credit, list_choices("Which advantage each token has.", credit_rules()).c_str(),
    one_of_names(credit_rules()));
  f("gamma", c.gamma,
    "Discount of a reward per token to come (token_returns, gae) or step to come (steps, turns, gigpo).",
    between(0.0, 1.0));
  f("gae_lambda", c.gae_lambda, "Lambda of generalised advantage estimation (arXiv:1506.02438 eq. 16).",
    between(0.0, 1.0));
  f("gigpo_omega", c.gigpo_omega,
    "GiGPO's omega: what the advantage of a step weighs beside that of the episode (arXiv:2505.10978 eq. 8).",
    at_least(0.0));
}

void describe_kl_and_entropy(FieldVisitor& f, AdvantageConfig& c) {
  f("kl_place", c.kl_place,
    "reward: beta * log(old / reference) is subtracted from the rewards, token by token where the credit is; "
    "loss: the advantages have no KL term.",
    one_of({"loss", "reward"}));
  f("beta", c.beta, "Weight of the KL divergence to the reference.", at_least(0.0));
  c.entropy_shaping.describe(f);
}

void describe_filters(FieldVisitor& f, AdvantageConfig& c) {
  f("gfpo_k", c.gfpo_k,
    "Keep the best k completions of a group by gfpo_metric: the others enter no statistic and have advantage "
    "0 (GFPO, arXiv:2508.09726); 0 keeps all.",
    at_least(0));
  f("gfpo_metric", c.gfpo_metric, "length, the shortest are best; or reward_per_token, the highest are.",
    one_of({"length", "reward_per_token"}));
  f("drop_pivot", c.drop_pivot,
    "Take the completion whose reward is the group's median out of the batch; its advantage is 0 "
    "(MC-GRPO, arXiv:2601.22582).");
  f("drop_truncated", c.drop_truncated,
    "Leave completions that reached their length limit out of the statistics; their advantage is 0.");
  f("length_corrected_rewards", c.length_corrected_rewards,
    "Divide a completion's reward by its length before the statistics (TIC-GRPO, arXiv:2508.02833).");
  f("rescale_informative", c.rescale_informative,
    "Multiply advantages by completions / completions of groups whose rewards differ (GPG, "
    "arXiv:2504.02546).");
}

void check_critic_and_turns(const AdvantageConfig& config) {
  const CreditRule& credit = find_credit_rule(config.credit);
  const bool is_gae = credit.is_of_critic;
  const Baseline& baseline = find_baseline(config.baseline);
  const Scale& scale = find_scale(config.scale_rewards);
  advantages_need(baseline.is_critic == is_gae,
                  "credit gae and baseline critic go together: set both, or neither");
  advantages_need(is_gae || config.baseline_keys.critic == CriticKeys{},
                  "length_adaptive_alpha, value_lambda and critic_share are for credit gae");
  advantages_need(
      !is_gae || (scale.is_one && !config.batch_whiten),
      "a critic learns the rewards as they are: set scale_rewards to none and batch_whiten to false");
  const bool has_turns = credit.has_state_values;
  advantages_need(baseline.is_of_states == has_turns,
                  "credit turns and baseline state_group go together: set both, or neither");
  advantages_need(!has_turns || config.scale_rewards == "group" || scale.is_one,
                  "credit turns normalises over the steps of a group: set scale_rewards to group or none");
  advantages_need(!has_turns || !config.batch_whiten,
                  "credit turns normalises over the steps of a group: set batch_whiten to false");
}

void check_anchor_states(const AdvantageConfig& config) {
  const CreditRule& credit = find_credit_rule(config.credit);
  const bool compares_steps = credit.is_of_states && !credit.has_state_values;
  advantages_need(compares_steps || config.gigpo_omega == AdvantageConfig().gigpo_omega,
                  "gigpo_omega is for credit gigpo");
  if (!compares_steps) return;
  const bool has_std_or_one = config.scale_rewards == "group" || find_scale(config.scale_rewards).is_one;
  advantages_need(find_baseline(config.baseline).is_of_group && has_std_or_one && !config.batch_whiten,
                  "credit gigpo compares the steps from one state: set baseline to group_mean, group_loo or "
                  "group_median, scale_rewards to group or none, and batch_whiten to false");
}

void check_step_rewards(const AdvantageConfig& config) {
  if (!config.is_stepwise()) return;
  advantages_need(!find_baseline(config.baseline).is_of_completions,
                  "rewards of steps have baseline none, group_mean, group_loo, group_median or batch_mean");
  advantages_need(
      !(config.puts_kl_in_reward() || config.gfpo_k > 0 || config.drop_pivot ||
        config.length_corrected_rewards),
      "kl_place reward, gfpo_k, drop_pivot and length_corrected_rewards are for rewards of completions");
}

void check_shaping(const AdvantageConfig& config) {
  if (!find_credit_rule(config.credit).shares_by_entropy) return;
  advantages_need(
      config.baseline == "group_mean" && config.scale_rewards == "group" && !config.batch_whiten,
      "credit gtpo and grpo_s have statistics of their own: leave baseline at group_mean, scale_rewards at "
      "group and batch_whiten at false");
  advantages_need(!config.puts_kl_in_reward(),
                  "credit gtpo and grpo_s read right and wrong off the rewards: set kl_place to loss");
}

void check_several_rewards(const AdvantageConfig& config) {
  if (!config.normalizes_each_reward()) return;
  const CreditRule& credit = find_credit_rule(config.credit);
  const bool has_own_statistics = credit.is_of_steps || credit.shares_by_entropy || credit.is_of_critic ||
                                  find_baseline(config.baseline).reads_greedy;
  advantages_need(!has_own_statistics,
                  "normalize_then_sum is for rewards of completions with a baseline of their own: set "
                  "multi_objective_aggregation to sum_then_normalize");
  advantages_need(
      !config.puts_kl_in_reward() || credit.tokens_pay_kl,
      "the KL term is no reward to normalise: set kl_place to loss, or multi_objective_aggregation to "
      "sum_then_normalize");
}

}  // namespace

void AdvantageConfig::describe(FieldVisitor& f) {
  describe_statistics(f, *this);
  describe_credit(f, *this);
  describe_kl_and_entropy(f, *this);
  describe_filters(f, *this);
}

bool AdvantageConfig::is_stepwise() const { return find_credit_rule(credit).is_of_steps; }

bool AdvantageConfig::has_token_advantages() const {
  const CreditRule& rule = find_credit_rule(credit);
  return rule.has_token_advantages || (rule.tokens_pay_kl && (gamma != 1.0 || puts_kl_in_reward()));
}

bool reads_entropies(const AdvantageConfig& config) {
  return find_credit_rule(config.credit).reads_entropies;
}

void check_advantage_config(const AdvantageConfig& config) {
  check_critic_and_turns(config);
  check_anchor_states(config);
  check_step_rewards(config);
  check_shaping(config);
  check_several_rewards(config);
  advantages_need(!config.drop_pivot || find_baseline(config.baseline).has_pivot,
                  "drop_pivot is for baseline group_median: no other has a completion as its pivot");
  advantages_need(!find_scale(config.scale_rewards).is_often_zero || config.scale_epsilon > 0.0,
                  "scale_rewards mad needs a scale_epsilon above 0: where most rewards of a group are equal, "
                  "their median absolute deviation is 0");
  advantages_need(!(config.batch_whiten && config.token_whiten),
                  "batch_whiten and token_whiten both whiten the batch: set one of them");
}

}  // namespace cohort
