"""The objectives of the GRPO family as functions of torch tensors, computed by the engine's own C++ code.

    advantages = objectives.advantages(rewards, group_size=8, preset="dapo")
    loss, metrics = objectives.loss(policy_logprobs, mask, advantages, old_logprobs=old_logprobs, preset="dapo")
    loss.backward()

A preset is a set of keys; every key can be given by name and then overrides the preset's. Both functions take the keys
of a recipe's `[objective]` and read those that concern them. `presets()` lists the presets, `settings()` the keys, and
`advice()` says what is doubtful about a composition.

Rows are completions, [N, T], padded; the completions of a group are adjacent. Gradient flows through `policy_logprobs`
and, with `entropy_coef`, through `entropies`; everything else is constant. Wrong shapes, keys and values raise
ValueError or TypeError.

The pieces that the two are composed of are here under their C++ names (cohort/objectives/*.h): ratios, surrogates, masks,
KL estimates, weights, pairs; baselines, scales, filters, credit and controllers. Those of single tokens take tensors of any
shape. Those of completions take packed tensors, [M] tokens with loss, completion behind completion, and `lengths`, their
tokens: `pack` makes both from [N, T]. `group_ends` says where groups of adjacent completions end. The legend of each
follows its text. What stands in its header as [M], [N] or a Segments is a tensor or a list of lengths here.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from cohort._cohort import objectives as _objectives
from cohort._cohort.objectives import (
    adapted_beta,
    adapted_entropy_coef,
    adaptive_group_k,
    anchor_state_advantages,
    applied_entropy_coef,
    best_of_groups,
    beta_density_weights,
    bias_corrected_k3,
    centred_scores,
    cispo_loss,
    clip_cov_mask,
    clipped_surrogate,
    clipped_value_loss,
    completion_weights,
    discounted_returns,
    discriminative_loss_sum,
    divergence_mask,
    dppo_loss,
    drpo_loss,
    edge_advantages,
    generalised_advantages,
    gmpo_surrogate,
    grpo_s_advantages,
    grpo_s_rewards,
    gtpo_advantages,
    gtpo_rewards,
    importance_ratio,
    kl_cov_mask,
    kl_estimate,
    kl_k3,
    length_adaptive_lambda,
    length_preference_weights,
    log_ratio_band,
    median_absolute_deviation,
    median_of,
    mismatch_weights,
    num_contrasts,
    off_policy_mask,
    pack,
    pair_logprobs,
    pair_loss_sum,
    pair_losses,
    preference_pairs,
    ratio_at_level,
    regression_loss,
    reinforce_loss,
    sapo_loss,
    scaled_scores,
    second_moment_mask,
    segment_credit,
    segment_mean_ratio,
    sequence_logprobs,
    sequence_mean_ratio,
    sequence_product_ratio,
    sequence_token_ratio,
    shaped_demonstration_loss,
    standard_scores,
    state_group_advantages,
    suffix_credit,
    token_covariance,
    token_ratio,
    top_entropy_mask,
    unpack,
    vespo_weights,
    whitened,
    without_pivots,
)

__all__ = [
    "adapted_beta",
    "adapted_entropy_coef",
    "adaptive_group_k",
    "advantages",
    "advice",
    "anchor_state_advantages",
    "applied_entropy_coef",
    "best_of_groups",
    "beta_density_weights",
    "bias_corrected_k3",
    "centred_scores",
    "cispo_loss",
    "clip_cov_mask",
    "clipped_surrogate",
    "clipped_value_loss",
    "completion_weights",
    "discounted_returns",
    "discriminative_loss_sum",
    "divergence_mask",
    "dppo_loss",
    "drpo_loss",
    "edge_advantages",
    "generalised_advantages",
    "gmpo_surrogate",
    "grpo_s_advantages",
    "grpo_s_rewards",
    "gtpo_advantages",
    "gtpo_rewards",
    "importance_ratio",
    "kl_cov_mask",
    "kl_estimate",
    "kl_k3",
    "length_adaptive_lambda",
    "length_preference_weights",
    "log_ratio_band",
    "loss",
    "median_absolute_deviation",
    "median_of",
    "mismatch_weights",
    "num_contrasts",
    "off_policy_mask",
    "pack",
    "pair_logprobs",
    "pair_loss_sum",
    "pair_losses",
    "preference_loss",
    "preference_pairs",
    "presets",
    "ratio_at_level",
    "regression_loss",
    "reinforce_loss",
    "sapo_loss",
    "scaled_scores",
    "second_moment_mask",
    "segment_credit",
    "segment_mean_ratio",
    "sequence_logprobs",
    "sequence_mean_ratio",
    "sequence_product_ratio",
    "sequence_token_ratio",
    "settings",
    "shaped_demonstration_loss",
    "standard_scores",
    "state_group_advantages",
    "suffix_credit",
    "token_covariance",
    "token_ratio",
    "top_entropy_mask",
    "unpack",
    "vespo_weights",
    "whitened",
    "without_pivots",
]


def loss(
    policy_logprobs: Tensor,
    mask: Tensor,
    advantages: Tensor,
    *,
    old_logprobs: Tensor | None = None,
    ref_logprobs: Tensor | None = None,
    sampler_logprobs: Tensor | None = None,
    entropies: Tensor | None = None,
    rewards: Tensor | None = None,
    demonstration_mask: Tensor | None = None,
    group_size: int | None = None,
    num_items_in_batch: int | Tensor | None = None,
    preset: str = "grpo",
    **config: Any,
) -> tuple[Tensor, dict[str, float]]:
    """The loss of a batch, a scalar in the dtype of `policy_logprobs`, and its metrics.

    Args:
        policy_logprobs: [N, T] float32 or float64, log-probabilities of the tokens under the policy; carries gradient.
        mask: [N, T], 1 where a token has loss, 0 elsewhere (padding, tool results), of any dtype. What stands in the
            other tensors at a 0 is never read. A row of zeros counts in means over completions. Runs of ones are the
            turns of `importance_sampling_level="turn"`.
        advantages: [N], or [N, T] for one of each token.
        old_logprobs: [N, T] before the update; without it the policy's own, so that every ratio is 1.
        ref_logprobs: [N, T] of the reference model; needed where `beta` is not 0.
        sampler_logprobs: [N, T] as the sampler returned them; nan where it has none.
        entropies: [N, T], for `entropy_coef` (with gradient) and `top_entropy_quantile`.
        rewards: [N] or [N, C], for the objectives that read them beside the advantages; nan: no reward.
        demonstration_mask: [N], 1 where the completion is a demonstration (luffy).
        group_size: completions of a group, for objectives over groups; divides N.
        num_items_in_batch: what the token mean divides by; without it the tokens with loss here. Give the count of the
            whole batch where this is one of its micro-batches, and add their losses up.
        preset: one of `presets()`.
        **config: keys of `settings()`, overriding the preset's; None unsets those that may be unset.
    """
    return _objectives.loss(
        policy_logprobs,
        mask,
        advantages,
        old_logprobs,
        ref_logprobs,
        sampler_logprobs,
        entropies,
        rewards,
        demonstration_mask,
        group_size,
        num_items_in_batch,
        preset,
        config,
    )


def advantages(
    rewards: Tensor,
    group_size: int,
    *,
    mask: Tensor | None = None,
    lengths: Tensor | None = None,
    entropies: Tensor | None = None,
    old_logprobs: Tensor | None = None,
    ref_logprobs: Tensor | None = None,
    greedy_rewards: Tensor | None = None,
    values: Tensor | None = None,
    step_ends: Tensor | None = None,
    outcome_rewards: Tensor | None = None,
    step_states: Tensor | None = None,
    fork_of: Sequence[int] | Tensor | None = None,
    fork_segments: Sequence[int] | Tensor | None = None,
    preset: str = "grpo",
    **config: Any,
) -> Tensor:
    """The advantages of a batch: [N], or [N, T] where a preset or `credit` tells tokens apart; without gradient.

    Args:
        rewards: [N], or [N, C] from C reward functions; nan: no reward, outside every statistic, advantage 0. With
            `step_ends` [N, K], the rewards of steps.
        group_size: completions of a group; divides N, and is at least 2 for a baseline that compares a group.
        mask: [N, T], 1 where a token has loss. Without it rows have loss on their first `lengths` places.
        lengths: [N], tokens with loss; may stand for `mask`, with which it must agree.
        entropies: [N, T] of the sampling policy (gtpo, grpo_s, edge_grpo).
        old_logprobs: [N, T], for a KL term in the reward and for lam_po.
        ref_logprobs: [N, T], for a KL term in the reward.
        greedy_rewards: [N / group_size], of each group's greedy completion (remax).
        values: [N, T], the critic's, of the state before each token (ppo, vapo).
        step_ends: [N, K], the place in the row of each step's last token, -1: no step.
        outcome_rewards: [N], of whole completions beside the rewards of steps (grpo_process): their advantages, under the
            same settings, are added to every token. nan: no outcome. Without it, gigpo takes the sums of the steps' rewards.
        step_states: [N, K] integers, equal ones for steps that begin in the same state of the environment (gigpo, credit
            "turns"); only those of one group are compared.
        fork_of: [N] integers, of completions that are a tree (treepo): the place in its group of the one before it that a
            completion left, -1: it began at the prompt.
        fork_segments: [N] integers, the segments of the tree that both have; 0 for those that began at the prompt.
        preset: one of `presets()`.
        **config: keys of `settings()`, and `reward_weights`, one number a reward function.
    """
    return _objectives.advantages(
        rewards,
        group_size,
        mask,
        lengths,
        entropies,
        old_logprobs,
        ref_logprobs,
        greedy_rewards,
        values,
        step_ends,
        outcome_rewards,
        step_states,
        fork_of,
        fork_segments,
        preset,
        config,
    )


def preference_loss(
    policy_logprobs: Tensor, mask: Tensor, *, ref_logprobs: Tensor | None = None, **config: Any
) -> tuple[Tensor, dict[str, float]]:
    """DPO's loss on preference pairs, or a relative's: the mean over pairs, a scalar in the dtype of `policy_logprobs`,
    and its metrics, TRL's `rewards/*` and `logps/*`. What `cohort dpo` minimises.

    Args:
        policy_logprobs: [2 P, T] float32 or float64, log-probabilities of the tokens under the policy; carries gradient.
            The rows of a pair are adjacent, the chosen completion before the rejected one.
        mask: [2 P, T], 1 where a token belongs to a completion.
        ref_logprobs: [2 P, T] of the reference; needed unless `reference_free`.
        **config: keys of a `cohort dpo` recipe's `[objective]`: beta, loss_type (sigmoid, sigmoid_norm, hinge, ipo,
            robust), label_smoothing, ld_alpha, reference_free.
    """
    return _objectives.preference_loss(policy_logprobs, mask, ref_logprobs, config)


def advice(preset: str = "grpo", **config: Any) -> list[str]:
    """What is doubtful about a composition of advantages and loss, a line each; ValueError for one that is wrong."""
    return _objectives.advice(preset, config)


def presets() -> dict[str, str]:
    """Each preset with its paper and what it is composed of."""
    return _objectives.presets()


def settings() -> str:
    """Every key with its default and its meaning, a line each."""
    return _objectives.settings()
