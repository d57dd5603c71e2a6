"""Made by tools/make_stubs.py from the compiled module: change the bindings in python/*.cpp."""

import collections.abc
from typing import Any

from torch import Tensor

def loss(
    arg0: Tensor,
    arg1: Tensor,
    arg2: Tensor,
    arg3: Tensor | None,
    arg4: Tensor | None,
    arg5: Tensor | None,
    arg6: Tensor | None,
    arg7: Tensor | None,
    arg8: Tensor | None,
    arg9: int | None,
    arg10: object,
    arg11: str,
    arg12: dict[str, Any],
) -> tuple[Tensor, dict[str, float]]: ...
def advantages(
    arg0: Tensor,
    arg1: int,
    arg2: Tensor | None,
    arg3: Tensor | None,
    arg4: Tensor | None,
    arg5: Tensor | None,
    arg6: Tensor | None,
    arg7: Tensor | None,
    arg8: Tensor | None,
    arg9: Tensor | None,
    arg10: Tensor | None,
    arg11: Tensor | None,
    arg12: collections.abc.Sequence[int] | Tensor | None,
    arg13: collections.abc.Sequence[int] | Tensor | None,
    arg14: str,
    arg15: dict[str, Any],
) -> Tensor: ...
def preference_loss(
    arg0: Tensor, arg1: Tensor, arg2: Tensor | None, arg3: dict[str, Any]
) -> tuple[Tensor, dict[str, float]]: ...
def pack(padded: Tensor, mask: Tensor) -> tuple[Tensor, list[int]]: ...
def unpack(packed: Tensor, mask: Tensor) -> Tensor: ...
def importance_ratio(policy_logprobs: Tensor, old_logprobs: Tensor) -> Tensor: ...
def token_ratio(log_ratio: Tensor) -> Tensor: ...
def segment_mean_ratio(log_ratio: Tensor, lengths: collections.abc.Sequence[int] | Tensor) -> Tensor: ...
def sequence_mean_ratio(log_ratio: Tensor, lengths: collections.abc.Sequence[int] | Tensor) -> Tensor: ...
def sequence_product_ratio(log_ratio: Tensor, lengths: collections.abc.Sequence[int] | Tensor) -> Tensor: ...
def sequence_token_ratio(log_ratio: Tensor, lengths: collections.abc.Sequence[int] | Tensor) -> Tensor: ...
def ratio_at_level(
    level: str,
    log_ratio: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    *,
    turn_lengths: collections.abc.Sequence[int] | Tensor | None = None,
) -> Tensor: ...
def mismatch_weights(
    mode: str,
    old_logprobs: Tensor,
    sampler_logprobs: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Tensor: ...
def clipped_surrogate(
    ratio: Tensor,
    advantages: Tensor,
    *,
    low: float | None = None,
    high: float | None = None,
    cap: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
def gmpo_surrogate(
    log_ratio: Tensor,
    advantages: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    *,
    low: float | None = 0.4,
    high: float | None = 0.4,
) -> tuple[Tensor, Tensor, Tensor]: ...
def reinforce_loss(policy_logprobs: Tensor, advantages: Tensor) -> Tensor: ...
def cispo_loss(
    policy_logprobs: Tensor, ratio: Tensor, advantages: Tensor, *, floor: float = 0.0, cap: float = 5.0
) -> Tensor: ...
def sapo_loss(
    ratio: Tensor, advantages: Tensor, *, temperature_pos: float = 1.0, temperature_neg: float = 1.05
) -> Tensor: ...
def vespo_weights(
    log_ratio: Tensor,
    advantages: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    *,
    mismatch_weights: Tensor | None = None,
    k_pos: float = 2.0,
    lambda_pos: float = 3.0,
    k_neg: float = 3.0,
    lambda_neg: float = 2.0,
) -> Tensor: ...
def dppo_loss(
    policy_logprobs: Tensor, ratio: Tensor, advantages: Tensor, mask: Tensor, *, truncation: float = 20.0
) -> Tensor: ...
def drpo_loss(
    ratio: Tensor, advantages: Tensor, anchor_logprobs: Tensor, *, delta: float = 12.5
) -> Tensor: ...
def shaped_demonstration_loss(
    policy_logprobs: Tensor, advantages: Tensor, *, gamma: float = 0.1
) -> Tensor: ...
def regression_loss(
    log_ratio: Tensor,
    advantages: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    *,
    tau: float = 0.1,
) -> Tensor: ...
def divergence_mask(
    divergence: str,
    policy_logprobs: Tensor,
    anchor_logprobs: Tensor,
    advantages: Tensor,
    *,
    epsilon: float,
    epsilon_high: float,
) -> Tensor: ...
def off_policy_mask(
    policy_logprobs: Tensor,
    behaviour_logprobs: Tensor,
    advantages: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    *,
    threshold: float,
) -> Tensor: ...
def log_ratio_band(log_ratio: Tensor, *, low: float | None = None, high: float | None = None) -> Tensor: ...
def second_moment_mask(log_ratio: Tensor, *, largest_mean: float) -> Tensor: ...
def top_entropy_mask(entropies: Tensor, *, share: float) -> Tensor: ...
def token_covariance(policy_logprobs: Tensor, advantages: Tensor) -> Tensor: ...
def kl_cov_mask(covariance: Tensor, *, share: float) -> Tensor: ...
def clip_cov_mask(
    covariance: Tensor,
    is_clipped: Tensor,
    *,
    low: float = 1.0,
    high: float = 5.0,
    share: float = 0.0002,
    seed: int = 0,
) -> Tensor: ...
def kl_k3(policy_logprobs: Tensor, ref_logprobs: Tensor) -> Tensor: ...
def kl_estimate(estimator: str, policy_logprobs: Tensor, ref_logprobs: Tensor) -> Tensor: ...
def bias_corrected_k3(policy_logprobs: Tensor, ref_logprobs: Tensor, ratio: Tensor) -> Tensor: ...
def clipped_value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, *, clip: float = 0.2
) -> Tensor: ...
def completion_weights(
    lengths: collections.abc.Sequence[int] | Tensor,
    *,
    aggregation: str,
    token_mean_scope: str = "batch",
    max_completion_length: int = 0,
    group_ends: collections.abc.Sequence[int] | Tensor = (),
    num_completions: int | None = None,
    num_loss_tokens: int | None = None,
    num_groups: int | None = None,
    num_micro_batches: int = 1,
) -> Tensor: ...
def length_preference_weights(
    lengths: collections.abc.Sequence[int] | Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    preference: Tensor,
) -> Tensor: ...
def discriminative_loss_sum(
    policy_logprobs: Tensor,
    rewards: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    *,
    max_completion_length: int,
    drpo_decoupled_tau: float = 10.0,
    drpo_decoupled_lambda: float = 0.1,
    positive_threshold: float = 0.0,
) -> Tensor: ...
def num_contrasts(
    rewards: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    *,
    positive_threshold: float = 0.0,
) -> int: ...
def preference_pairs(
    rewards: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    *,
    dpo_margin: float = 0.0,
    dpo_pairs: str = "all",
) -> tuple[Tensor, Tensor]: ...
def pair_logprobs(
    policy_logprobs: Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    *,
    ref_logprobs: Tensor | None = None,
    dpo_length_normalized: bool = True,
) -> Tensor: ...
def sequence_logprobs(
    logprobs: Tensor, lengths: collections.abc.Sequence[int] | Tensor, *, ld_alpha: float | None = None
) -> Tensor: ...
def pair_losses(
    lead: Tensor, *, beta: float = 0.1, loss_type: str = "sigmoid", label_smoothing: float = 0.0
) -> Tensor: ...
def pair_loss_sum(
    logprobs: Tensor,
    winners: collections.abc.Sequence[int] | Tensor,
    losers: collections.abc.Sequence[int] | Tensor,
    *,
    beta: float,
) -> Tensor: ...
def centred_scores(
    scores: Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    baseline: str,
    *,
    lengths: collections.abc.Sequence[int] | Tensor | None = None,
    greedy_scores: Tensor | None = None,
    mean_logprobs: Tensor | None = None,
    fork_of: collections.abc.Sequence[int] | Tensor | None = None,
    fork_segments: collections.abc.Sequence[int] | Tensor | None = None,
    pairwise_temperature: float = 1.0,
) -> Tensor: ...
def scaled_scores(
    centred: Tensor,
    scores: Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    *,
    kind: str = "group",
    ddof: int = 1,
    epsilon: float = 0.0001,
) -> Tensor: ...
def beta_density_weights(group_means: Tensor, *, ddof: int = 1) -> Tensor: ...
def whitened(
    advantages: Tensor,
    *,
    counts: collections.abc.Sequence[int] | Tensor | None = None,
    ddof: int = 1,
    epsilon: float = 0.0001,
) -> Tensor: ...
def standard_scores(values: Tensor, *, ddof: int = 1, epsilon: float = 0.0001) -> Tensor: ...
def median_of(values: Tensor) -> float: ...
def median_absolute_deviation(values: Tensor) -> float: ...
def best_of_groups(
    scores: Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    k: collections.abc.Sequence[int] | Tensor,
    *,
    metric: str = "length",
) -> Tensor: ...
def without_pivots(scores: Tensor, group_ends: collections.abc.Sequence[int] | Tensor) -> Tensor: ...
def adaptive_group_k(mean_reward: float, seen_means: Tensor) -> int: ...
def suffix_credit(
    scores: Tensor, ends: collections.abc.Sequence[int] | Tensor, length: int, *, gamma: float = 1.0
) -> Tensor: ...
def segment_credit(scores: Tensor, ends: collections.abc.Sequence[int] | Tensor, length: int) -> Tensor: ...
def discounted_returns(score: float, penalties: Tensor, *, gamma: float = 1.0) -> Tensor: ...
def generalised_advantages(
    rewards: Tensor, values: Tensor, *, gamma: float = 1.0, gae_lambda: float = 1.0
) -> Tensor: ...
def length_adaptive_lambda(alpha: float, length: int) -> float: ...
def state_group_advantages(
    rewards: Tensor,
    completions: collections.abc.Sequence[int] | Tensor,
    states: collections.abc.Sequence[int] | Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    *,
    gamma: float,
    gae_lambda: float,
) -> Tensor: ...
def anchor_state_advantages(
    rewards: Tensor,
    completions: collections.abc.Sequence[int] | Tensor,
    states: collections.abc.Sequence[int] | Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    *,
    gamma: float = 0.95,
    baseline: str = "group_mean",
    kind: str = "group",
    ddof: int = 1,
    epsilon: float = 0.0001,
) -> Tensor: ...
def gtpo_rewards(
    scores: Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    entropies: Tensor,
    *,
    outcome_weight: float = 1.0,
    share_weight: float = 0.1,
    statistics: str = "shares",
    ddof: int = 1,
    epsilon: float = 0.0001,
) -> Tensor: ...
def gtpo_advantages(
    scores: Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    entropies: Tensor,
    *,
    outcome_weight: float = 1.0,
    share_weight: float = 0.1,
    statistics: str = "shares",
    ddof: int = 1,
    epsilon: float = 0.0001,
) -> Tensor: ...
def grpo_s_rewards(
    scores: Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    entropies: Tensor,
    *,
    outcome_weight: float = 1.0,
    share_weight: float = 0.1,
    statistics: str = "shares",
    ddof: int = 1,
    epsilon: float = 0.0001,
) -> Tensor: ...
def grpo_s_advantages(
    scores: Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    entropies: Tensor,
    *,
    outcome_weight: float = 1.0,
    share_weight: float = 0.1,
    statistics: str = "shares",
    ddof: int = 1,
    epsilon: float = 0.0001,
) -> Tensor: ...
def edge_advantages(
    advantages: Tensor,
    scores: Tensor,
    group_ends: collections.abc.Sequence[int] | Tensor,
    lengths: collections.abc.Sequence[int] | Tensor,
    entropies: Tensor,
) -> Tensor: ...
def adapted_beta(beta: float, kl: float, *, target: float, num_completions: int, horizon: float) -> float: ...
def adapted_entropy_coef(
    coefficient: float,
    entropy: float,
    *,
    target: float = 0.2,
    step: float = 0.005,
    smallest: float = 0.0,
    largest: float = 1.0,
) -> float: ...
def applied_entropy_coef(
    coefficient: float,
    entropy: float,
    *,
    target: float = 0.2,
    step: float = 0.005,
    smallest: float = 0.0,
    largest: float = 1.0,
) -> float: ...
def advice(arg0: str, arg1: dict[str, Any]) -> list[str]: ...
def presets() -> dict[str, Any]: ...
def settings() -> str: ...
