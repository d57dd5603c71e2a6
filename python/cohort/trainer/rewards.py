"""Reward functions of a Python program, called as TRL 1.16 calls them."""

import inspect
import itertools
import json
import math
import os
import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cohort.trainer.async_calls import AsyncCalls, run
from cohort.trainer.data import Rows
from cohort.trainer.processes import processes
from cohort.trainer.reward_models import is_model, model_name

RewardFunction = Callable[..., Sequence[float | None]]
EngineRow = tuple[str, str, list[int], str | None, int]


def name_of(function: Any) -> str:
    """The name of a function, a functools.partial or an object with __call__."""
    while hasattr(function, "func"):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


def is_async(function: Any) -> bool:
    """Whether a call returns a coroutine."""
    while hasattr(function, "func"):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def tables_of(
    reward_funcs: Any, weights: Sequence[float] | None, builtin: Sequence[str]
) -> list[dict[str, Any]]:
    """A [[reward]] table for each reward function: a callable, the name of a built-in one, or a reward model, an object or
    a directory. Names are TRL's, made different where two are alike. ValueError for what is none of these."""
    functions = reward_funcs if isinstance(reward_funcs, list | tuple) else [reward_funcs]
    if not functions:
        raise ValueError("reward_funcs is empty: give at least one reward function")
    if weights is not None and len(weights) != len(functions):
        raise ValueError(
            f"reward_weights has {len(weights)} numbers, but there are {len(functions)} reward functions"
        )
    tables = []
    for place, function in enumerate(functions):
        table = _table(function, builtin)
        taken = {other["name"] for other in tables}
        if table["name"] in taken:
            table["type"] = table.get("type", table["name"])
            table["name"] = next(
                f"{table['name']}_{i}" for i in range(2, 99) if f"{table['name']}_{i}" not in taken
            )
        table["weight"] = 1.0 if weights is None else float(weights[place])
        tables.append(table)
    return tables


def _table(function: Any, builtin: Sequence[str]) -> dict[str, Any]:
    if is_model(function):
        return {"name": model_name(function), "type": "model", "model": function}
    if callable(function):
        return {"name": name_of(function), "type": "callable", "function": function}
    if isinstance(function, Mapping):  # a table of a recipe
        if not function.get("name", function.get("type")):
            raise ValueError(f"reward_funcs: {function!r} has no 'name'")
        return {"name": function.get("type"), **function}
    if isinstance(function, str | os.PathLike):
        path = os.fspath(function)
        if os.path.isdir(path):
            return {"name": os.path.basename(os.path.normpath(path)), "type": "model", "path": path}
        if path in builtin:
            return {"name": path, "type": path}
        raise ValueError(
            f"reward_funcs: {path!r} is neither a directory nor a built-in reward; there are {', '.join(builtin)}"
        )
    raise TypeError(
        f"reward_funcs: a {type(function).__name__} is no reward function: give a callable, a name or a directory"
    )


class RewardCalls:
    """Calls reward functions with the completions of a step: rows of (prompt id, text, ids of its tokens, messages as JSON,
    number of the episode), the last two of completions with an environment.

    The functions see the columns of the data set by TRL's names, and `trainer_state`, `log_extra` and `log_metric`.
    """

    def __init__(
        self,
        data_sets: Mapping[str, Rows],
        state: Any,
        mask_errors: bool,
        prompt_only: bool,
        environments: Any = None,
    ):
        # By the names of their files. Nothing here leads back to the trainer.
        self._data_sets = dict(data_sets)
        self._state = state
        self._mask_errors = mask_errors
        self._prompt_only = prompt_only
        self._environments = environments
        self._extra: dict[str, list[Any]] = defaultdict(list)
        self._judged: dict[object, list[tuple[str, str]]] = {}  # prompt id and text of what each function got
        self.metrics: dict[str, list[float]] = defaultdict(list)
        self._scored: list[set[tuple[str, int]]] = []  # by each function, of its last call
        self._rows: list[str] = []
        self._async = AsyncCalls()
        self._rollout_columns: dict[str, list[Any]] = {}

    def take_columns(self, columns: dict[str, list[Any]]) -> None:
        """Takes what a rollout function gave besides its completions, for the rewards of this step."""
        self._rollout_columns = columns

    def add_data(self, rows: Rows) -> None:
        """Adds a data set, whose file has its name."""
        self._data_sets[rows.name] = rows

    def end_evaluation(self, rows: Rows) -> None:
        """Forgets a data set and what was logged of it."""
        del self._data_sets[rows.name]
        self.forget_extra()
        self._scored.clear()
        self.metrics.clear()

    def function(self, function: RewardFunction) -> Callable[[list[EngineRow]], list[Any]]:
        """What the engine calls for `function`: rows -> a score for each, None where there is none, or a text that says
        why there is none."""
        if is_async(function):
            self._async.add(function)
        number = object()

        def score(rows: list[EngineRow]) -> list[Any]:
            if processes().size > 1:
                self._judged.setdefault(number, []).extend((row_id, text) for row_id, text, *_ in rows)
            try:
                return self._scores(function, rows)
            except Exception as error:
                if not self._mask_errors:
                    self._async.forget()
                    raise
                return [_text_of(error)] * len(rows)

        return score

    def _scores(self, function: RewardFunction, rows: list[EngineRow]) -> list[float | None]:
        if self._async.has(function):
            result = self._async.result(function, rows, lambda other: other(**self._arguments(rows)))
        else:
            result = function(**self._arguments(rows))
        if inspect.isawaitable(result):
            result = run(_awaited(result))
        scores = checked_scores(name_of(function), result, len(rows))
        self._rows = [row_id for row_id, *_ in rows]
        self._scored.append(
            {(row_id, place) for place, (row_id, *_) in enumerate(rows) if scores[place] is not None}
        )
        return scores

    def _arguments(self, rows: list[EngineRow]) -> dict[str, Any]:
        examples = [self.row(row_id) for row_id, *_ in rows]
        prompts = [example["prompt"] for example in examples]
        completions: list[Any] = [text for _, text, *_ in rows]
        if isinstance(prompts[0], list):
            completions = [
                json.loads(messages) if messages is not None else [{"role": "assistant", "content": text}]
                for _, text, _, messages, _ in rows
            ]
        arguments: dict[str, Any] = {}
        if not self._prompt_only:
            columns = [key for key in examples[0] if key not in ("prompt", "completion", "completion_ids")]
            arguments = {key: [example.get(key) for example in examples] for key in columns}
        if self._rollout_columns:
            arguments |= self._rollout_columns
        if self._environments is not None and self._environments.factories:
            numbers = [number for *_, number in rows]
            arguments["environments"] = [self._environments.instance(number) for number in numbers]
            prompts = [
                self._environments.opened(prompt, n) for prompt, n in zip(prompts, numbers, strict=True)
            ]
        return arguments | {
            "prompts": prompts,
            "completions": completions,
            "completion_ids": [row[2] for row in rows],
            "trainer_state": self._state,
            "log_extra": self._log_extra,
            "log_metric": self._log_metric,
        }

    def row(self, row_id: str) -> dict[str, Any]:
        """The row of a prompt id."""
        file = row_id.rpartition(":")[0]
        return self._data_sets[os.path.splitext(os.path.basename(file))[0]].row_of(row_id)

    def _log_extra(self, column: str, values: list[Any]) -> None:
        self._extra[column].extend(values)

    def _log_metric(self, name: str, value: float) -> None:
        self.metrics[name].append(float(value))

    def forget_extra(self) -> None:
        """Drops what log_extra was given."""
        self._extra.clear()
        self._judged.clear()

    def extra_of(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        """The columns of log_extra in all processes, a value for each row of completions.jsonl; None where its process gave
        another number of values than it had completions. Alone: as they were given."""
        if processes().size == 1:
            return self._extra
        columns: dict[str, list[Any]] = {}
        places = defaultdict(list)
        for place, row in enumerate(rows):
            places[row["prompt_id"], row["completion"]].append(place)
        own_rows = next(iter(self._judged.values()), [])  # all functions get the same
        for judged, extra in processes().gather((own_rows, self._extra), "the columns of log_extra"):
            own = [places[row_id, text].pop(0) for row_id, text in judged if places[row_id, text]]
            for name, values in extra.items():
                column = columns.setdefault(name, [None] * len(rows))
                if len(values) == len(own):
                    for place, value in zip(own, values, strict=True):
                        column[place] = value
        return columns

    def take_metrics(self) -> dict[str, float]:
        """The means of what was logged since the last call, in all processes."""
        found: dict[str, list[float]] = defaultdict(list)
        for metrics in processes().gather(self.metrics, "the metrics of reward functions"):
            for name, values in metrics.items():
                found[name] += values
        self.metrics.clear()
        return {name: _mean(values) for name, values in found.items()}

    def take_unscored(self, num_functions: int) -> list[str]:
        """The prompts of completions that none of `num_functions` functions scored since the last call."""
        scored, self._scored = self._scored, []
        if len(scored) != num_functions:
            return []
        known = set().union(*scored)
        return [row_id for place, row_id in enumerate(self._rows) if (row_id, place) not in known]


def _mean(values: list[float]) -> float:
    """The same in any order, as which processes have them."""
    total = math.fsum(values) if all(map(math.isfinite, values)) else sum(values)
    return total / len(values)


def weakly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Calls `function` as long as something else keeps it. The engine's run, which Python's garbage collector does not
    see through, holds this, so that a reward function that knows its trainer keeps neither of them alive."""
    known = weakref.ref(function)
    return lambda *arguments: known()(*arguments)


def _text_of(error: Exception) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # of the user's __str__
        text = type(error).__name__
    return text.encode(errors="replace").decode()  # without surrogates


async def _awaited(result: Any) -> Any:
    return await result


def checked_scores(name: str, scores: Any, count: int) -> list[float | None]:
    """A float for each of `count` completions, None where the function has none. TypeError or ValueError otherwise."""
    try:
        values = list(itertools.islice(scores, count + 1))  # it may have no end
    except TypeError as error:
        raise TypeError(
            f"the reward function {name!r} returned a {type(scores).__name__}, but must return a list"
        ) from error
    if len(values) != count:
        number = str(len(values)) if len(values) < count else f"more than {count}"
        raise ValueError(
            f"the reward function {name!r} returned {number} rewards for {count} completions; it must return one for each"
        )
    try:
        floats = [None if value is None else float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"the reward function {name!r} returned what is no number: {error}") from error
    if any(value is not None and math.isinf(value) for value in floats):
        raise ValueError(
            f"the reward function {name!r} returned an infinite reward; it must be finite, or None"
        )
    return [None if value is None or math.isnan(value) else value for value in floats]
