#include "cohort/objectives/advantage_config.h"

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/scale.h"

namespace cohort {
namespace {

void advantages_need(bool holds, const char* reason) {
  if (!holds) throw ConfigError(reason);
}

void describe_statistics(FieldVisitor& f, AdvantageConfig& c) {
  f("baseline", c.baseline, list_choices("What is subtracted from a reward.", baselines()).c_str(),
    one_of_names(baselines()));
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
  f("credit", c.credit,
    "Which tokens have which advantage: sequence, all the completion's; steps, the sum of the normalised "
    "rewards of the steps that end with the token or behind it (arXiv:2402.03300 section 4.1.3); segments, "
    "that of its own step alone; turns, the generalised advantage of its own step, from states that "
    "completions of a group share (GAGPO); token_returns, the discounted sum of rewards to come; gae "
    "(arXiv:1506.02438); "
    "gtpo and grpo_s, shares by entropy (arXiv:2508.04349); edge, divided by relative entropy "
    "(arXiv:2507.21848).",
    one_of({"sequence", "steps", "segments", "turns", "token_returns", "gae", "gtpo", "grpo_s", "edge"}));
  f("gamma", c.gamma,
    "Discount of a reward per token to come (token_returns, gae) or step to come (steps, turns).",
    between(0.0, 1.0));
  f("gae_lambda", c.gae_lambda, "Lambda of generalised advantage estimation (arXiv:1506.02438 eq. 16).",
    between(0.0, 1.0));
  f("value_lambda", c.value_lambda,
    "Lambda of the returns that the critic learns; gae_lambda when not set (VAPO, arXiv:2504.05118, uses 1).",
    between(0.0, 1.0));
  f("length_adaptive_alpha", c.length_adaptive_alpha,
    "VAPO's alpha: lambda is 1 - 1 / (alpha * length), at least 0, instead of gae_lambda "
    "(arXiv:2504.05118; the paper uses 0.05); 0 turns it off.",
    at_least(0.0));
  f("critic_share", c.critic_share,
    "Share of the critic's advantage; the rest is that of group mean and std (a mixture for early training, "
    "1 to 0, "
    "while a small critic still helps).",
    between(0.0, 1.0));
}

void describe_kl_and_entropy(FieldVisitor& f, AdvantageConfig& c) {
  f("kl_place", c.kl_place,
    "reward: beta * log(old / reference) is subtracted from the rewards, token by token where the credit is; "
    "loss: the advantages have no KL term.",
    one_of({"loss", "reward"}));
  f("beta", c.beta, "Weight of the KL divergence to the reference.", at_least(0.0));
  f("entropy_outcome_weight", c.entropy_outcome_weight,
    "What the outcome itself weighs in gtpo and grpo_s (alpha_1 and beta_1 of arXiv:2508.04349).",
    at_least(0.0));
  f("entropy_share_weight", c.entropy_share_weight,
    "What the share by entropy weighs in gtpo and grpo_s (alpha_2 and beta_2 of arXiv:2508.04349).",
    at_least(0.0));
  f("entropy_statistics", c.entropy_statistics,
    "Over what gtpo and grpo_s normalise: shares, those of right and of wrong completions each over the "
    "whole "
    "group, 0 where a completion is of the other kind; group, all of the group together; signs, right and "
    "wrong completions apart, the paper's formula read literally, which loses which of them are right.",
    one_of({"shares", "group", "signs"}));
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
  f("pairwise_temperature", c.pairwise_temperature,
    "Temperature of the pairwise baseline's weights; a high one gives leave-one-out.", above(0.0));
}

void check_critic_and_turns(const AdvantageConfig& config) {
  const bool is_gae = config.credit == "gae";
  const Baseline& baseline = find_baseline(config.baseline);
  advantages_need(baseline.is_critic == is_gae,
                  "credit gae and baseline critic go together: set both, or neither");
  advantages_need(
      is_gae || (config.length_adaptive_alpha == 0.0 && !config.value_lambda && config.critic_share == 1.0),
      "length_adaptive_alpha, value_lambda and critic_share are for credit gae");
  advantages_need(
      !is_gae || (config.scale_rewards == "none" && !config.batch_whiten),
      "a critic learns the rewards as they are: set scale_rewards to none and batch_whiten to false");
  const bool has_turns = config.credit == "turns";
  advantages_need(baseline.is_of_states == has_turns,
                  "credit turns and baseline state_group go together: set both, or neither");
  advantages_need(!has_turns || config.scale_rewards == "group" || config.scale_rewards == "none",
                  "credit turns normalises over the steps of a group: set scale_rewards to group or none");
  advantages_need(!has_turns || !config.batch_whiten,
                  "credit turns normalises over the steps of a group: set batch_whiten to false");
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
  if (config.credit != "gtpo" && config.credit != "grpo_s") return;
  advantages_need(
      config.baseline == "group_mean" && config.scale_rewards == "group" && !config.batch_whiten,
      "credit gtpo and grpo_s have statistics of their own: leave baseline at group_mean, scale_rewards at "
      "group and batch_whiten at false");
  advantages_need(!config.puts_kl_in_reward(),
                  "credit gtpo and grpo_s read right and wrong off the rewards: set kl_place to loss");
}

void check_several_rewards(const AdvantageConfig& config) {
  if (config.multi_objective_aggregation != "normalize_then_sum") return;
  const bool has_own_statistics = config.is_stepwise() || config.credit == "gtpo" ||
                                  config.credit == "grpo_s" || config.credit == "gae" ||
                                  find_baseline(config.baseline).reads_greedy;
  advantages_need(!has_own_statistics,
                  "normalize_then_sum is for rewards of completions with a baseline of their own: set "
                  "multi_objective_aggregation to sum_then_normalize");
  advantages_need(
      !config.puts_kl_in_reward() || config.credit == "token_returns",
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

bool AdvantageConfig::has_token_advantages() const {
  if (credit == "token_returns") return gamma != 1.0 || puts_kl_in_reward();
  return credit == "steps" || credit == "segments" || credit == "gae" || credit == "gtpo";
}

bool reads_entropies(const AdvantageConfig& config) {
  return config.credit == "gtpo" || config.credit == "grpo_s" || config.credit == "edge";
}

void check_advantage_config(const AdvantageConfig& config) {
  check_critic_and_turns(config);
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
