"""Reward functions under TRL 1.16's names, and the built-in rewards as functions: docs/python/rewards.md.

A reward function is called with prompts, completions, completion_ids and the columns of the data set, and returns a number for
each completion, or None where it has none. Completions are strings or lists of messages, whose last one counts.
"""

import json
import logging
import math
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

Scores = list[float | None]

__all__ = [
    "BuiltinReward",
    "accuracy_reward",
    "get_cosine_scaled_reward",
    "get_repetition_penalty_reward",
    "get_soft_overlong_punishment",
    "reasoning_accuracy_reward",
    "think_format_reward",
]


class BuiltinReward:
    """A built-in reward (docs/rewards.md) as a reward function: `BuiltinReward("choice", choices="ABCD")`.

    Args:
        type: the name, such as "choice".
        keys: the keys of its [[reward]] table. ValueError for an unknown one.
    """

    def __init__(self, type: str, **keys: Any):
        self.type, self.keys = type, keys
        self.__name__ = type
        self._make()

    def __call__(self, completions: Sequence[Any], **columns: Any) -> Scores:
        """A score for each completion; None where the reward could not judge it."""
        return [score for score, _, _ in self.results(completions, **columns)]

    def results(self, completions: Sequence[Any], **columns: Any) -> list[tuple[float | None, str, str]]:
        """Score, status and detail of each completion, as docs/rewards.md says."""
        return self._reward.score(_rows(completions, columns))

    def explain(self, completion: Any, **row: Any) -> list[tuple[str, str]]:
        """What the reward read in one completion and its row, and how: (label, text)."""
        return self._reward.explain(_line(completion, row))

    def _make(self) -> None:
        import torch  # noqa: F401  the extension is linked with its libraries

        from cohort._cohort import rewards

        self._reward = rewards.BuiltinReward(self.type, self.keys)

    def __reduce__(self) -> tuple[Any, ...]:
        return _builtin, (self.type, self.keys)


def accuracy_reward(
    completions: Sequence[Any],
    solution: Sequence[str],
    log_extra: Callable[[str, list[Any]], None] | None = None,
    **columns: Any,
) -> Scores:
    """1 where the boxed or announced LaTeX of a completion equals its solution as mathematics, else 0; None where the solution
    holds no mathematics. math-verify judges, as in TRL; ImportError if it is not installed. The built-in reward
    "accuracy" judges by other rules (docs/rewards.md)."""
    return _accuracy([_text(one) for one in completions], solution, log_extra)


def reasoning_accuracy_reward(
    completions: Sequence[Any],
    solution: Sequence[str],
    reasoning_delimiters: Sequence[str] | None = None,
    log_extra: Callable[[str, list[Any]], None] | None = None,
    **columns: Any,
) -> Scores:
    """accuracy_reward of the text after the last of the first `reasoning_delimiters` (["</think>"]) that a completion has; 0
    where it has none of them."""
    delimiters = ["</think>"] if reasoning_delimiters is None else reasoning_delimiters
    return _accuracy([_answer(_text(one), delimiters) for one in completions], solution, log_extra)


def think_format_reward(completions: Sequence[Any], **columns: Any) -> Scores:
    """1 where a completion begins with one `<think>` that a `</think>` closes, else 0."""
    return [float(_THINK.match(_text(one)) is not None) for one in completions]


def get_soft_overlong_punishment(max_completion_len: int, soft_punish_cache: int) -> "_SoftOverlong":
    """A reward of the number of tokens (arXiv:2503.14476 eq. 13): 0 up to max_completion_len - soft_punish_cache, then falling
    linearly to -1 at max_completion_len."""
    return _SoftOverlong(max_completion_len, soft_punish_cache)


def get_cosine_scaled_reward(
    max_len: int,
    min_value_wrong: float = -1.0,
    max_value_wrong: float = -0.5,
    min_value_correct: float = 0.5,
    max_value_correct: float = 1.0,
) -> "_CosineScaled":
    """A reward of accuracy and number of tokens (arXiv:2502.03373 C.1): along half a cosine from max_value_correct at 0 tokens
    to min_value_correct at `max_len` for right completions, from min_value_wrong to max_value_wrong for wrong ones; None
    where accuracy_reward has none."""
    return _CosineScaled(max_len, (max_value_correct, min_value_correct), (min_value_wrong, max_value_wrong))


def get_repetition_penalty_reward(ngram_size: int = 3, max_penalty: float = -1.0) -> "_Repetition":
    """A reward of repeated n-grams of tokens (arXiv:2502.03373 C.2): max_penalty times the share of n-grams that occurred
    before. ValueError if max_penalty is positive."""
    if max_penalty > 0:
        raise ValueError(f"max_penalty is {max_penalty}, but must not be positive")
    return _Repetition(ngram_size, max_penalty)


class _SoftOverlong:
    __name__ = "soft_overlong_punishment_reward"  # TRL's, which metrics are named by

    def __init__(self, limit: int, cache: int):
        self._limit, self._cache = limit, cache

    def __call__(self, completion_ids: Sequence[Sequence[int]], **columns: Any) -> Scores:
        return [self._score(len(ids)) for ids in completion_ids]

    def _score(self, length: int) -> float:
        if length > self._limit:
            return -1.0
        excess = length - (self._limit - self._cache)
        return -excess / self._cache if excess > 0 else 0.0


class _CosineScaled:
    __name__ = "cosine_scaled_reward"

    def __init__(self, max_len: int, correct: tuple[float, float], wrong: tuple[float, float]):
        self._max_len, self._correct, self._wrong = max_len, correct, wrong  # at 0 tokens, at max_len

    def __call__(
        self,
        completions: Sequence[Any],
        solution: Sequence[str],
        completion_ids: Sequence[Sequence[int]],
        **columns: Any,
    ) -> Scores:
        scores = accuracy_reward(completions, solution)
        return [self._score(one, len(ids)) for one, ids in zip(scores, completion_ids, strict=True)]

    def _score(self, accuracy: float | None, length: int) -> float | None:
        if accuracy is None:
            return None
        first, last = self._correct if accuracy else self._wrong
        share = min(length / self._max_len, 1.0)
        return last + (first - last) * (1.0 + math.cos(math.pi * share)) / 2.0


class _Repetition:
    __name__ = "repetition_penalty_reward"

    def __init__(self, size: int, max_penalty: float):
        self._size, self._max_penalty = size, max_penalty

    def __call__(self, completion_ids: Sequence[Sequence[int]], **columns: Any) -> Scores:
        return [self._score(ids) for ids in completion_ids]

    def _score(self, ids: Sequence[int]) -> float:
        grams = [tuple(ids[i : i + self._size]) for i in range(len(ids) - self._size + 1)]
        num_repeated = len(grams) - len(set(grams))
        return self._max_penalty * num_repeated / len(grams) if num_repeated else 0.0


#: `<think>`, once, at the beginning.
_THINK = re.compile(r"<think>(?!.*<think>).*?</think>", re.DOTALL)

_INCOMPLETE, _UNREAD, _SKIPPED = "[incomplete reasoning]", "[unparseable]", "[skipped]"  # TRL's cells


def _accuracy(
    texts: list[str | None], solutions: Sequence[str], log_extra: Callable[[str, list[Any]], None] | None
) -> Scores:
    """A text that is None is a completion without an answer."""
    scores: Scores = []
    read: dict[str, list[str]] = {"gold_parsed": [], "answer_parsed": []}
    verifier = _Verifier()
    for text, solution in zip(texts, solutions, strict=True):
        score, gold, answer = 0.0, _INCOMPLETE, _INCOMPLETE
        if text is not None:
            score, gold, answer = verifier.judge(text, solution)
        scores.append(score)
        read["gold_parsed"].append(gold)
        read["answer_parsed"].append(answer)
    if log_extra is not None:
        for column, cells in ({"solution": list(solutions)} | read).items():
            log_extra(column, cells)
    return scores


class _Verifier:
    """math-verify with TRL's settings."""

    def __init__(self) -> None:
        try:
            from latex2sympy2_extended import NormalizationConfig
            from math_verify import LatexExtractionConfig, parse, verify
        except ImportError as error:
            raise ImportError(
                "accuracy_reward needs math-verify: pip install math-verify, or use the built-in reward 'accuracy'"
            ) from error
        self._parse, self._verify = parse, verify
        # A box first; other LaTeX only where words announce an answer.
        self._places = [
            LatexExtractionConfig(
                normalization_config=NormalizationConfig(units=True),
                boxed_match_priority=0,
                try_extract_without_anchor=False,
            )
        ]
        # Its time limits are alarms, which only the main thread can set.
        is_main = threading.current_thread() is threading.main_thread()
        self._parse_seconds, self._verify_seconds = (10, 5) if is_main else (None, None)
        if not is_main:
            for part in ("parser", "grader"):
                logging.getLogger(f"math_verify.{part}").setLevel(logging.ERROR)

    def judge(self, text: str, solution: str) -> tuple[float | None, str, str]:
        """The score, and how solution and answer were read."""
        gold = self._parse(solution, parsing_timeout=self._parse_seconds)
        if not gold:
            return None, _UNREAD, _SKIPPED
        answer = self._parse(
            text,
            extraction_config=self._places,
            extraction_mode="first_match",
            parsing_timeout=self._parse_seconds,
        )
        score = float(self._verify(gold, answer, timeout_seconds=self._verify_seconds))
        return score, str(gold), str(answer) if answer else _UNREAD


def _answer(text: str, delimiters: Sequence[str]) -> str | None:
    for delimiter in delimiters:
        if delimiter in text:
            return text.rpartition(delimiter)[2]
    return None


def _text(completion: Any) -> str:
    return completion if isinstance(completion, str) else completion[-1]["content"]


def _rows(completions: Sequence[Any], columns: dict[str, Any]) -> list[str]:
    """A line of JSON for each completion, with the columns that have a value for each; prompts are called `prompt`."""
    held = {
        "prompt" if name == "prompts" else name: values
        for name, values in columns.items()
        if isinstance(values, list | tuple) and len(values) == len(completions)
    }
    return [
        _line(completion, {name: values[i] for name, values in held.items()})
        for i, completion in enumerate(completions)
    ]


def _line(completion: Any, row: dict[str, Any]) -> str:
    return json.dumps({**row, "completion": _text(completion)}, default=str)


def _builtin(type: str, keys: dict[str, Any]) -> BuiltinReward:
    return BuiltinReward(type, **keys)
