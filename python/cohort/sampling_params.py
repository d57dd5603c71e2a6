"""How completions are drawn, under vLLM's names."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch  # noqa: F401  the extension is linked with its libraries

from cohort._cohort import engine as _engine


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How completions are drawn. ValueError for values out of range.

    Log-probabilities are those of the distribution that was drawn from. The trainer knows temperature and filters; it
    does not know penalties and `logit_bias`: with them set `old_logprobs` from Engine.logprobs().

    Attributes:
        n: completions of each prompt.
        temperature: divides the logits; 0 is greedy.
        top_k, top_p, min_p: filters; 0, 1 and 0 are off.
        repetition_penalty, presence_penalty, frequency_penalty, logit_bias: edits of the logits, as in vLLM.
        max_tokens: longest completion, in tokens.
        min_tokens: tokens before the first one that may stop.
        stop: text or texts that end a completion.
        stop_token_ids: ids that end a completion, beside the model's own.
        ignore_eos: sample on past the model's own stop tokens.
        include_stop_str_in_output: texts include what ended them. Changes no token.
        skip_special_tokens: texts leave out special tokens. Changes no token.
        structured_outputs: the form that every completion has, one of {"regex": an expression}, {"choice": texts},
            {"json": a schema} and {"json_object": True}, as in vLLM; tokens that leave it are not drawn, and no
            log-probability counts them.
        seed: decides every random number; None: the engine's.
    """

    n: int = 1
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] | None = None
    max_tokens: int = 512
    min_tokens: int = 0
    stop: str | Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    include_stop_str_in_output: bool = True
    skip_special_tokens: bool = True
    structured_outputs: Mapping[str, Any] | None = None
    seed: int | None = None

    def __post_init__(self):
        _engine.check_sampling(keys_of(self))


def keys_of(params: SamplingParams) -> dict[str, Any]:
    """The values that differ from the defaults, as the engine takes them."""
    keys = {}
    for f in fields(params):
        value = getattr(params, f.name)
        if f.name == "structured_outputs" and value is not None:
            value = _json_text(value)
        if isinstance(value, Mapping):
            value = dict(value)
        is_empty = isinstance(value, (Sequence, dict)) and len(value) == 0
        is_default = value is f.default or (type(value) is type(f.default) and value == f.default)
        if not is_empty and not is_default:
            keys[f.name] = value
    return keys


def _json_text(form: Mapping[str, Any]) -> str:
    if not isinstance(form, Mapping):
        raise TypeError(f"structured_outputs must be a dict, not {type(form).__name__}")
    try:
        return json.dumps(dict(form), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"structured_outputs: {error}") from None
