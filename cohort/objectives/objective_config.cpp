#include "cohort/objectives/objective_config.h"

namespace cohort {

void ObjectiveConfig::describe(FieldVisitor& f) {
  f("loss_type", loss_type,
    "How token losses become one number: grpo, mean over completions of their token mean (arXiv:2402.03300 "
    "eq. 3); "
    "dapo, mean over all tokens of the mini-batch (arXiv:2503.14476 eq. 8); dr_grpo, sum over tokens divided "
    "by "
    "completions times max_completion_length (arXiv:2503.20783).",
    one_of({"grpo", "dapo", "dr_grpo"}));
  f("beta", beta,
    "Weight of the KL divergence to the reference model, the starting weights (k3 per token, "
    "arXiv:2402.03300 "
    "eq. 4); at 0 no reference model is loaded.",
    at_least(0.0));
  f("epsilon", epsilon, "Lower clip half-width of the importance ratio (PPO, arXiv:1707.06347 eq. 7).",
    above(0.0));
  f("epsilon_high", epsilon_high,
    "Upper clip half-width (clip-higher, arXiv:2503.14476 eq. 10; the paper uses 0.28); epsilon when not "
    "set.",
    above(0.0));
  f("scale_rewards", scale_rewards,
    "What centred rewards are divided by: group, the standard deviation of the group (arXiv:2402.03300); "
    "batch, that "
    "of all raw rewards of the step; none (arXiv:2503.20783).",
    one_of({"group", "batch", "none"}));
  f("supervision", supervision,
    "outcome, every token of a completion has its advantage; process, a token has the sum of those of the "
    "steps that end with it or behind it (arXiv:2402.03300 section 4.1.3), which needs a reward that gives "
    "steps, such as `process`.",
    one_of({"outcome", "process"}));
  f("num_iterations", num_iterations,
    "Passes over the completions of one generation (mu of arXiv:2402.03300).", at_least(1));
  f("mask_truncated_completions", mask_truncated_completions,
    "Leave completions that reached their length limit out of the loss (arXiv:2503.14476 section 3.4); their "
    "reward "
    "still counts in the group's statistics and they count as completions.");
}

}  // namespace cohort
