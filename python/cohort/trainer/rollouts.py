"""`rollout_func`: a function that samples in the engine's place, called as TRL 1.16 calls it."""

import copy
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cohort.batch import Completion, Group
from cohort.sampling_params import SamplingParams
from cohort.trainer.online_recipe import rollout_section

RolloutFunction = Callable[[list[Any], Any], Mapping[str, Any]]
_REQUIRED = ("prompt_ids", "completion_ids", "logprobs")


#: Keys of [rollout] that SamplingParams has under another name, and those that it has not.
_RENAMED = {"num_generations": "n", "max_completion_length": "max_tokens", "stop_strings": "stop"}
_NOT_SAMPLING = ("prompts_per_step",)


def sampling_params_of(args: Any) -> SamplingParams:
    """How the engine samples under a trainer's settings."""
    keys = rollout_section(args)
    return SamplingParams(**{_RENAMED.get(key, key): keys[key] for key in keys if key not in _NOT_SAMPLING})


def groups_of(output: Mapping[str, Any], sizes: Sequence[int], tokenizer: Any) -> list[Group]:
    """The completions that a rollout function returned, `sizes[p]` of prompt p. ValueError for a key that is missing, a
    wrong number of values, and prompts of one group that differ."""
    missing = sorted(set(_REQUIRED) - set(output))
    if missing:
        raise ValueError(f"rollout_func must return keys {missing} in its output dict.")
    columns = {name: output[name] for name in _REQUIRED}
    if output.get("env_mask") is not None:
        columns["env_mask"] = output["env_mask"]
    for name, values in columns.items():
        if values is None or len(values) != sum(sizes):
            found = "None" if values is None else f"{len(values)} lists"
            raise ValueError(
                f"rollout_func: {name} is {found}, but must have a list for each of {sum(sizes)} prompts"
            )
    groups, first = [], 0
    for size in sizes:
        places = range(first, first + size)
        prompt_ids = list(columns["prompt_ids"][first])
        if any(list(columns["prompt_ids"][place]) != prompt_ids for place in places):
            raise ValueError("rollout_func: prompt_ids of the completions of one prompt differ")
        groups.append(Group(prompt_ids, [_completion(columns, place, tokenizer) for place in places]))
        first += size
    return groups


def _completion(columns: Mapping[str, Any], place: int, tokenizer: Any) -> Completion:
    ids, logprobs = list(columns["completion_ids"][place]), columns["logprobs"][place]
    mask = columns["env_mask"][place] if "env_mask" in columns else None
    text = tokenizer.decode(ids, skip_special_tokens=True)
    return Completion(ids, logprobs=logprobs, text=text, mask=mask)


def extra_columns(output: Mapping[str, Any], count: int) -> dict[str, list[Any]]:
    """What reward functions get besides the data's columns: a value for each completion."""
    columns = {}
    for name, values in output.items():
        if name in _REQUIRED or name == "env_mask":
            continue
        columns[name] = (values + [None] * count)[:count] if isinstance(values, list) else [values] * count
    return columns


def rollout_caller(
    function: RolloutFunction,
    trainer: Any,
    row_of: Callable[[str], dict[str, Any]],
    take_columns: Callable[..., None],
) -> Callable[[list[tuple[str, int]]], list[Group]]:
    """What the engine calls for a rollout: (prompt id, number of completions) of each prompt -> groups."""
    owner = weakref.ref(trainer)  # which holds the run that holds this function

    def rollout(rows: list[tuple[str, int]]) -> list[Group]:
        trainer = owner()
        sizes = [size for _, size in rows]
        prompts = [copy.deepcopy(row_of(row_id)["prompt"]) for row_id, size in rows for _ in range(size)]
        output = function(prompts, trainer)
        if not isinstance(output, Mapping):
            raise TypeError(f"rollout_func returned a {type(output).__name__}, but must return a dict")
        groups = groups_of(output, sizes, trainer.processing_class)
        take_columns(extra_columns(output, len(prompts)))
        return groups

    return rollout
