"""Groups and their completions: what an Engine samples, scores and learns from."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

Numbers = Tensor | Sequence[float]


@dataclass
class Completion:
    """One completion of a prompt, with its columns. A column has a value for each token: float32 [T] or a list.

    Attributes:
        token_ids: [T], the stop token included.
        logprobs: of the sampler: natural log at the sampling temperature, over the kept set.
        text: of `token_ids`.
        finish_reason: "stop" (a stop token or string) or "length".
        reward: read by the objectives that need it; nan: none.
        advantage: one number, or one for each token.
        old_logprobs: of the policy before the update; None: `logprobs`.
        ref_logprobs: of the reference, for a KL term.
        entropies: of the policy before the update, in nats, for the objectives that read them.
        mask: 1 where a token has loss, 0 where it was not sampled (a tool's result); None: all have.
        kept_ids: for each token the ascending ids that top_k, top_p, min_p and min_tokens kept, None: all; as a whole
            None if every token was drawn from the whole vocabulary.
    """

    token_ids: list[int]
    logprobs: Numbers | None = None
    text: str = ""
    finish_reason: str = "length"
    reward: float = math.nan
    advantage: float | Numbers = 0.0
    old_logprobs: Numbers | None = None
    ref_logprobs: Numbers | None = None
    entropies: Numbers | None = None
    mask: Sequence[int] | Tensor | None = None
    kept_ids: list[Tensor | None] | None = field(default=None, repr=False)


@dataclass
class Group:
    """The completions of one prompt. The prompt is computed once for all of them.

    Attributes:
        prompt_ids: token ids of the prompt, at least one.
        completions: at least one.
        prompt: the text of `prompt_ids`; empty if they were given as ids.
        temperature: at which log-probabilities are taken: the sampling temperature, or 1 after greedy sampling.
    """

    prompt_ids: list[int]
    completions: list[Completion]
    prompt: str = ""
    temperature: float = 1.0


@dataclass(frozen=True)
class LossBatch:
    """What a loss function of yours is told beside its tensors: a micro-batch of N completions, any of the batch's.

    Attributes:
        sampler_logprobs: [N, T].
        ref_logprobs: [N, T]; None if the batch has none.
        entropies: [N, T] of the policy that learns, in nats; carries gradient.
        rewards: [N]; nan: none.
        group_ends: where groups of adjacent completions end, as for the pieces of cohort.objectives. A group that was cut
            between micro-batches is several.
        num_completions, num_loss_tokens, num_groups: of the whole batch. Divide by these: the losses of micro-batches are
            added up.
    """

    sampler_logprobs: Tensor
    ref_logprobs: Tensor | None
    entropies: Tensor
    rewards: Tensor
    group_ends: list[int]
    num_completions: int
    num_loss_tokens: int
    num_groups: int


LossFunction = Callable[
    [Tensor, Tensor, Tensor, Tensor, LossBatch], Tensor | tuple[Tensor, Mapping[str, float]]
]


def wrapped(function: LossFunction) -> Callable[..., tuple[Tensor, dict[str, float]]]:
    """The function as the engine calls it, with its result checked."""

    def call(policy_logprobs, old_logprobs, advantages, mask, columns):
        result = function(policy_logprobs, old_logprobs, advantages, mask, LossBatch(**columns))
        loss, metrics = result if isinstance(result, tuple) and len(result) == 2 else (result, {})
        if not isinstance(loss, Tensor) or not isinstance(metrics, Mapping):
            raise TypeError("a loss function must return a tensor, or a tensor and a dict of metrics")
        if loss.numel() != 1:
            raise ValueError(
                f"a loss function returned a tensor of shape {list(loss.shape)}, but must return a scalar"
            )
        if not loss.requires_grad:
            raise ValueError("the loss carries no gradient: it must be computed from policy_logprobs")
        for name in ("loss", "entropy"):
            if name in metrics:
                raise ValueError(
                    f"a loss function returned a metric {name!r}, which is there already: rename it"
                )
        numbers = {
            str(name): float(value.detach() if isinstance(value, Tensor) else value)
            for name, value in metrics.items()
        }
        return loss.reshape(()), numbers

    return call


def groups_from(drawn: list[Any], temperature: float) -> list[Group]:
    """The groups that the engine drew at `temperature`."""
    return [
        Group(
            prompt_ids=prompt_ids,
            completions=[
                Completion(token_ids=ids, logprobs=logprobs, text=text, finish_reason=reason, kept_ids=kept)
                for ids, logprobs, text, reason, kept in completions
            ],
            prompt=prompt,
            temperature=temperature,
        )
        for prompt_ids, prompt, completions in drawn
    ]


def check_batch(batch: Sequence[Group]) -> list[Group]:
    """Raises TypeError for anything but groups of completions."""
    if isinstance(batch, Group) or not isinstance(batch, Sequence) or isinstance(batch, str):
        raise TypeError(f"batch is a {type(batch).__name__}, but must be a list of cohort.Group")
    for g, group in enumerate(batch):
        if not isinstance(group, Group):
            raise TypeError(f"batch[{g}] is a {type(group).__name__}, but must be a cohort.Group")
        if not isinstance(group.completions, Sequence):
            raise TypeError(
                f"batch[{g}].completions is a {type(group.completions).__name__}, but must be a list of cohort.Completion"
            )
        for i, completion in enumerate(group.completions):
            if not isinstance(completion, Completion):
                raise TypeError(
                    f"batch[{g}].completions[{i}] is a {type(completion).__name__}, but must be a cohort.Completion"
                )
    return list(batch)
