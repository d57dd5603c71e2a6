#include "cohort/train/grpo/rollout_config.h"

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/objectives/scale.h"

namespace cohort {
namespace {

void describe_selection(FieldVisitor& f, RolloutConfig& c) {
  f("dynamic_sampling", c.dynamic_sampling,
    "Throw groups without difference away, which teach nothing, and draw further prompts in their place "
    "(DAPO, arXiv:2503.14476).");
  f("max_num_gen_batches", c.max_num_gen_batches,
    "With dynamic_sampling: batches of prompts that a step draws at most, each of at most prompts_per_step; "
    "where they do not suffice, groups without difference fill the step up.",
    at_least(1));
  f("keep_generations", c.keep_generations,
    "Completions of each prompt that are trained on: of those that were drawn the ones whose rewards vary "
    "most (PODS, arXiv:2504.13818); all when unset.",
    at_least(2));
  f("generation_budget", c.generation_budget,
    "uniform, num_generations completions of each prompt; or knapsack, as many of all prompts together, more "
    "of those where success and failure are both likely: 2 to 4 * num_generations by how often the run had "
    "success with a prompt before (Knapsack RL, arXiv:2509.25849, reconstructed).",
    one_of({"uniform", "knapsack"}));
  f("adaptive_sampling", c.adaptive_sampling,
    "Sample num_generations at a time of each prompt until it has enough (Reinforce-Ada, arXiv:2510.04996): "
    "balanced, half of keep_generations positive and half not; positive_focused, one positive; none, one "
    "round for all. All that were drawn count in the baseline and scale of those that are kept.",
    one_of({"none", "balanced", "positive_focused"}));
  f("max_sampling_rounds", c.max_sampling_rounds, "Rounds of adaptive_sampling at most.", at_least(1));
  f("positive_reward", c.positive_reward,
    "With adaptive_sampling, generation_budget or num_rerolls: a completion whose rewards sum up to more is "
    "a "
    "success.");
  f("num_rerolls", c.num_rerolls,
    "If no completion of a prompt that calls a tool is a success: draw the calls of the least certain ones "
    "this many times anew, from the mark that opens their first call on (AXPO, arXiv:2605.28774, "
    "reconstructed); 0, never.",
    at_least(0));
  f("max_reroll_share", c.max_reroll_share,
    "With num_rerolls: re-rolls of a step at most, as a share of prompts_per_step * num_generations.",
    between(0.0, 1.0));
}

void describe_tree(FieldVisitor& f, TreeShape& tree) {
  f("tree_depth", tree.depth,
    "Draw the completions of a prompt as a tree: cut them into this many segments of equal length, "
    "max_completion_length in all, and let those that go on fork at the end of each segment, until there are "
    "num_generations (TreePO, arXiv:2508.17445, uses 14). What completions share is drawn and forwarded "
    "once. "
    "0: each is drawn by itself.",
    at_least(0));
  f("tree_branches", tree.branches,
    "With tree_depth: completions that one becomes at the end of a segment, as long as num_generations has "
    "room.",
    at_least(2));
  f("tree_first_branches", tree.first_branches,
    "With tree_depth: completions that begin at the prompt, at most; a random number from tree_branches on.",
    at_least(2));
}

void refuse_rollout(bool is_asked, const std::string& reason) {
  if (is_asked) throw ConfigError(reason);
}

/// What is not trained on has rewards and lengths, but no pass computes its tokens' values.
bool reads_rewards_alone(const AdvantageConfig& a) {
  return !a.is_stepwise() && !reads_entropies(a) && !a.puts_kl_in_reward() &&
         !find_baseline(a.baseline).is_critic && a.gfpo_k == 0 && !a.drop_pivot;
}

}  // namespace

void RolloutConfig::describe(FieldVisitor& f) {
  f("prompts_per_step", prompts_per_step, "Prompts drawn for each step.", at_least(1));
  f("num_generations", num_generations,
    "Completions of each prompt: the group's size. 1 needs a baseline that is not the group's.", at_least(1));
  describe_draws(f, /*may_be_greedy=*/false);
  describe_stops(f);
  describe_texts(f);
  describe_selection(f, *this);
  describe_tree(f, tree);
  f("prompts_ahead", prompts_ahead,
    "Prompts of the next step that are drawn before the update of this one, while its rewards and "
    "environments are still at work; at most prompts_per_step. Their completions are by the policy of one "
    "step "
    "before (staleness 1). 0: none.",
    at_least(0));
  describe_cache(f);
}

namespace {

/// Settings that nothing would heed.
void check_idle_settings(const RolloutConfig& rollout) {
  const RolloutConfig defaults;
  const bool selects_by_success = rollout.is_adaptive() || rollout.is_budgeted();
  const bool counts_successes = selects_by_success || rollout.num_rerolls > 0;
  refuse_rollout(
      !rollout.dynamic_sampling && rollout.max_num_gen_batches != defaults.max_num_gen_batches,
      "rollout.max_num_gen_batches has no effect without rollout.dynamic_sampling: set it to true, or "
      "remove the key");
  refuse_rollout(
      !rollout.is_adaptive() && rollout.max_sampling_rounds != defaults.max_sampling_rounds,
      "rollout.max_sampling_rounds has no effect without rollout.adaptive_sampling: set it, or remove "
      "the key");
  refuse_rollout(!counts_successes && rollout.positive_reward != defaults.positive_reward,
                 "rollout.positive_reward has no effect without rollout.adaptive_sampling, "
                 "generation_budget or num_rerolls: set one of them, or remove the key");
  refuse_rollout(rollout.num_rerolls == 0 && rollout.max_reroll_share != defaults.max_reroll_share,
                 "rollout.max_reroll_share has no effect without rollout.num_rerolls: set it (3 in "
                 "arXiv:2605.28774), or remove the key");
  const bool shapes_tree = rollout.tree.branches != defaults.tree.branches ||
                           rollout.tree.first_branches != defaults.tree.first_branches;
  refuse_rollout(
      !rollout.has_trees() && shapes_tree,
      "rollout.tree_branches and tree_first_branches have no effect without rollout.tree_depth: set "
      "it (14 in arXiv:2508.17445), or remove them");
  refuse_rollout(rollout.is_budgeted() && rollout.num_generations == 2,
                 "rollout.generation_budget = \"knapsack\" gives every prompt two completions at least, and "
                 "rollout.num_generations is 2: raise it");
  refuse_rollout(!selects_by_success && rollout.keep_generations == rollout.num_generations,
                 str("rollout.keep_generations (", rollout.num_trained(),
                     ") keeps all of rollout.num_generations: lower it, or remove the key"));
}

/// A group of one has nothing to be judged against.
void check_group_of_one(const RolloutConfig& rollout, const AdvantageConfig& a) {
  if (rollout.num_generations > 1 || rollout.is_adaptive()) return;
  refuse_rollout(find_baseline(a.baseline).is_of_group || find_credit_rule(a.credit).shares_by_entropy,
                 str("rollout.num_generations = 1 leaves a completion no other to be judged against, which "
                     "objective.baseline = \"",
                     a.baseline,
                     "\" needs: raise it, or set the baseline to none, batch_mean, greedy or critic (presets "
                     "reinforce_pp and ppo)"));
  refuse_rollout(
      find_scale(a.scale_rewards).is_of_group,
      str("rollout.num_generations = 1 has no spread within a group, by which objective.scale_rewards = \"",
          a.scale_rewards, "\" divides: set it to batch or none"));
}

/// What is kept of a group, and what the advantages keep of that.
void check_selection(const RolloutConfig& rollout, const AdvantageConfig& a) {
  const int64_t most =
      rollout.is_adaptive() ? rollout.num_generations * rollout.max_sampling_rounds : rollout.num_generations;
  refuse_rollout(rollout.num_trained() > most,
                 str("rollout.keep_generations (", rollout.num_trained(), ") is more than the ", most,
                     " completions of a prompt that are drawn: raise rollout.num_generations"));
  refuse_rollout(a.gfpo_k >= rollout.num_generations,
                 str("objective.gfpo_k (", a.gfpo_k, ") leaves none of rollout.num_generations (",
                     rollout.num_generations, ") out: raise num_generations, 16 in arXiv:2508.09726"));
  refuse_rollout(
      rollout.keep_generations && a.gfpo_k > 0,
      "rollout.keep_generations and objective.gfpo_k both choose among a prompt's completions: set "
      "one of them");
  refuse_rollout(
      rollout.keep_generations && a.normalizes_each_reward(),
      "rollout.keep_generations chooses by the sum of all rewards, and multi_objective_aggregation = "
      "\"normalize_then_sum\" compares each by itself: set sum_then_normalize");
  refuse_rollout(a.drop_pivot && (rollout.keep_generations || rollout.is_budgeted()),
                 "objective.drop_pivot takes the median out of groups of odd size, which "
                 "rollout.keep_generations and generation_budget change: remove them");
  refuse_rollout(a.drop_pivot && rollout.num_generations % 2 == 0,
                 str("objective.drop_pivot takes the completion out that is the median, and of an even "
                     "rollout.num_generations (",
                     rollout.num_generations, ") none is: set an odd one, 9 in arXiv:2601.22582"));
}

/// A tree of completions, which are judged together.
void check_trees(const RolloutConfig& rollout, const AdvantageConfig& a) {
  refuse_rollout(
      find_baseline(a.baseline).reads_forks && !rollout.has_trees(),
      str("objective.baseline = \"", a.baseline,
          "\" compares the completions of a tree: set rollout.tree_depth (14 in arXiv:2508.17445)"));
  if (!rollout.has_trees()) return;
  refuse_rollout(rollout.tree.depth == 1 || rollout.tree.depth > rollout.max_completion_length,
                 str("rollout.tree_depth (", rollout.tree.depth,
                     ") is the number of segments of a completion: set 2 or more, and no more than "
                     "rollout.max_completion_length (",
                     rollout.max_completion_length, ")"));
  refuse_rollout(rollout.tree.first_branches < rollout.tree.branches,
                 str("rollout.tree_first_branches (", rollout.tree.first_branches,
                     ") is below rollout.tree_branches (", rollout.tree.branches, "): raise it"));
  refuse_rollout(
      rollout.keep_generations || rollout.is_adaptive() || a.drop_pivot,
      "rollout.tree_depth draws completions that are judged as a tree, from which "
      "rollout.keep_generations, adaptive_sampling and objective.drop_pivot would take some: remove "
      "them");
}

/// Re-rolls of calls have a group and an advantage of their own.
void check_rerolls(const RolloutConfig& rollout, const AdvantageConfig& a) {
  if (rollout.num_rerolls == 0) return;
  refuse_rollout(
      rollout.num_rerolls == 1,
      "rollout.num_rerolls = 1 leaves a re-roll no other to be judged against: set 2 or more (3 in "
      "arXiv:2605.28774)");
  refuse_rollout(rollout.most_reroll_groups() == 0,
                 str("rollout.max_reroll_share (", rollout.max_reroll_share,
                     ") of prompts_per_step * num_generations is less than rollout.num_rerolls (",
                     rollout.num_rerolls, "): raise one of the former"));
  refuse_rollout(rollout.selects(),
                 "rollout.num_rerolls adds groups to a step, which rollout.dynamic_sampling, "
                 "keep_generations, adaptive_sampling and generation_budget do not expect: remove them");
  refuse_rollout(!rollout.structured_outputs_regex.empty(),
                 "rollout.num_rerolls freezes the beginning of a turn, and rollout.structured_outputs_regex "
                 "is about the "
                 "whole turn: remove one of them");
  refuse_rollout(
      a.batch_whiten || !(find_scale(a.scale_rewards).is_of_group || find_scale(a.scale_rewards).is_one),
      "rollout.num_rerolls has groups of their own for the re-rolls, and objective.batch_whiten and "
      "scale_rewards of the batch would mix them with the others: set scale_rewards to group or none");
  refuse_rollout(
      !reads_rewards_alone(a) || a.normalizes_each_reward() || !find_baseline(a.baseline).is_of_group,
      "rollout.num_rerolls puts the recovery in the place of a completion's total reward: choose "
      "objective.credit = \"sequence\", kl_place = \"loss\", a baseline of the group, "
      "sum_then_normalize, no gfpo_k and no drop_pivot");
}

/// What a step draws for the next one has its place there already.
void check_ahead(const RolloutConfig& rollout, const AdvantageConfig& a) {
  if (!rollout.is_stale()) return;
  refuse_rollout(
      rollout.prompts_ahead > rollout.prompts_per_step,
      str("rollout.prompts_ahead (", rollout.prompts_ahead, ") is more than rollout.prompts_per_step (",
          rollout.prompts_per_step, "): completions may be one step behind, not more; lower it"));
  refuse_rollout(rollout.selects() || rollout.num_rerolls > 0 || rollout.has_trees() ||
                     find_baseline(a.baseline).reads_greedy,
                 "rollout.prompts_ahead draws plain groups of num_generations completions: remove it, or "
                 "remove dynamic_sampling, keep_generations, adaptive_sampling, generation_budget, "
                 "num_rerolls, tree_depth and objective.baseline = \"greedy\"");
}

}  // namespace

void check_rollout(const RolloutConfig& rollout, const AdvantageConfig& advantages, bool counts_epochs) {
  refuse_rollout(rollout.dynamic_sampling && !find_baseline(advantages.baseline).is_of_group,
                 str("rollout.dynamic_sampling throws away groups without difference, which teach something "
                     "under objective.baseline = \"",
                     advantages.baseline, "\": turn it off"));
  refuse_rollout(rollout.dynamic_sampling && counts_epochs,
                 "train.num_train_epochs cannot be planned with rollout.dynamic_sampling, whose steps draw "
                 "as many prompts as they need: set train.max_steps");
  refuse_rollout(rollout.is_adaptive() && rollout.is_budgeted(),
                 "rollout.adaptive_sampling and rollout.generation_budget both decide how many completions "
                 "a prompt has: set one of them");
  refuse_rollout(rollout.is_adaptive() && !rollout.keep_generations,
                 "rollout.adaptive_sampling needs rollout.keep_generations, the completions of each prompt "
                 "to train on (4 in arXiv:2510.04996)");
  refuse_rollout(rollout.is_adaptive() && !reads_rewards_alone(advantages),
                 "rollout.adaptive_sampling has statistics over completions that are not trained on, whose "
                 "steps and tokens have no values: turn it off, or choose objective.credit = \"sequence\", "
                 "kl_place = \"loss\", no critic, no gfpo_k and no drop_pivot");
  check_sampling_keys(rollout, "rollout.");
  check_group_of_one(rollout, advantages);
  check_selection(rollout, advantages);
  check_rerolls(rollout, advantages);
  check_trees(rollout, advantages);
  check_ahead(rollout, advantages);
  check_idle_settings(rollout);
}

}  // namespace cohort
