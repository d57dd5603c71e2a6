from typing import Any

from torch import Tensor

def loss(
    policy_logprobs: Tensor,
    mask: Tensor,
    advantages: Tensor,
    old_logprobs: Tensor | None,
    ref_logprobs: Tensor | None,
    sampler_logprobs: Tensor | None,
    entropies: Tensor | None,
    rewards: Tensor | None,
    expert_mask: Tensor | None,
    group_size: int | None,
    num_items_in_batch: int | Tensor | None,
    preset: str,
    config: dict[str, Any],
) -> tuple[Tensor, dict[str, float]]: ...
def advantages(
    rewards: Tensor,
    group_size: int,
    mask: Tensor | None,
    lengths: Tensor | None,
    entropies: Tensor | None,
    old_logprobs: Tensor | None,
    ref_logprobs: Tensor | None,
    greedy_rewards: Tensor | None,
    values: Tensor | None,
    step_ends: Tensor | None,
    preset: str,
    config: dict[str, Any],
) -> Tensor: ...
def advice(preset: str, config: dict[str, Any]) -> list[str]: ...
def presets() -> dict[str, str]: ...
def settings() -> str: ...
