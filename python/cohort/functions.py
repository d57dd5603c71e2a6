"""Losses and advantages that are functions of the user's: found by name, checked, and run from a recipe."""

import difflib
import importlib
import importlib.util
import os
import pathlib
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cohort.batch import LossFunction, wrapped

#: Gets the rewards [N] float64, nan for completions that failed, and the number [N] int64 of each one's group; returns N numbers.
AdvantageFunction = Callable[[Tensor, Tensor], Tensor | Sequence[float]]


@dataclass(frozen=True)
class OwnFunctions:
    """Functions in place of the objective's loss and advantages; None: the objective's."""

    loss: LossFunction | None = None
    advantages: AdvantageFunction | None = None

    @classmethod
    def given(
        cls,
        loss: LossFunction | None,
        advantages: AdvantageFunction | None,
        recipe: Mapping[str, Any] | None = None,
    ) -> "OwnFunctions":
        """Arguments of a trainer, or functions that its recipe names. TypeError or ValueError for what is no function."""
        found = {}
        for name, function in (("loss", loss), ("advantages", advantages)):
            key = "objective.python" if name == "loss" else "objective.python_advantages"
            place = (recipe or {}).get(key)
            if function is not None and place:
                raise ValueError(f"{name} and recipe[{key!r}] say the same: give one of them")
            if function is not None and not callable(function):
                raise TypeError(f"{name} is a {type(function).__name__}, but must be a function")
            found[name] = load(place, key) if place else function
        return cls(**found)

    def keys(self) -> dict[str, str]:
        """What a recipe says of the functions."""
        keys = {"python": self.loss, "python_advantages": self.advantages}
        return {key: "callable" for key, function in keys.items() if function is not None}

    def calls(self) -> dict[str, Callable[..., Any]]:
        """The functions as the engine calls them."""
        calls: dict[str, Callable[..., Any]] = {}
        if self.loss is not None:
            calls["loss"] = wrapped(self.loss)
        if self.advantages is not None:
            calls["advantages"] = _wrapped_advantages(self.advantages)
        return calls


def load(place: str, key: str) -> Callable[..., Any]:
    """The function that a recipe's `key` names: "FILE.py:NAME" or "MODULE:NAME". ValueError where there is none."""
    source, _, name = place.rpartition(":")
    if not source or not name:
        raise ValueError(
            f'{key} = "{place}" names no function: give "FILE.py:NAME" or "MODULE:NAME"'
            + (", as the recipe of a trainer cannot name its function" if place == "callable" else "")
        )
    if source.endswith(".py") and not os.path.isfile(source):
        raise ValueError(f"{key}: there is no file {source}")
    try:
        found = _imported(source)
    except Exception as error:
        raise ValueError(f"{key}: {source} can't be loaded: {_in_one_line(error, source)}") from error
    if not hasattr(found, name):
        near = difflib.get_close_matches(name, [known for known in vars(found) if known[0] != "_"], 1)
        advice = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{key}: {source} has no function {name!r}{advice}")
    function = getattr(found, name)
    if not callable(function):
        raise ValueError(f"{key}: {place} is a {type(function).__name__}, but must be a function")
    return function


def run_recipe(
    recipe: str,
    loss: str | None,
    advantages: str | None,
    output_dir: str,
    resume: bool,
    accept_changed: list[str],
) -> int:
    """What `cohort train` hands over: runs a recipe whose objective.python or python_advantages are the places `loss` and
    `advantages`, and prints its directory. Returns the exit code; ValueError with one line for what a function raises."""
    from cohort._cohort import trainer

    processes = trainer.Processes()
    own = OwnFunctions.given(
        None, None, {"objective.python": loss, "objective.python_advantages": advantages}
    )
    try:
        run = trainer.grpo_run(recipe, resume, {}, accept_changed=accept_changed, **own.calls())
        code = run.run()
    except Exception as error:
        run = None  # ends its line of progress before another one is written
        processes.fail()
        if isinstance(error, trainer.RankLost):
            print(f"cohort: {error}", file=sys.stderr)
            return trainer.RANK_LOST_EXIT_CODE
        for place in filter(None, (loss, advantages)):
            source = place.rpartition(":")[0]
            if _line_in(error, source):
                raise ValueError(f"{place}: {_in_one_line(error, source)}") from error
        raise
    if processes.rank == 0:
        print(output_dir)
    return code


def _imported(source: str) -> Any:
    """The module of a file or of its name."""
    if not source.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(source)
    path = pathlib.Path(source).resolve()
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _wrapped_advantages(function: AdvantageFunction) -> Callable[[Tensor, Tensor], Tensor]:
    """The function as the engine calls it: it gets tensors of its own, and gives float64."""

    def call(rewards: Tensor, group: Tensor) -> Tensor:
        values = function(rewards.clone(), group)
        if not isinstance(values, Tensor | Sequence) or isinstance(values, str):
            raise TypeError(
                f"an advantage function returned a {type(values).__name__}, but must return a tensor of "
                f"{len(rewards)} numbers"
            )
        return torch.as_tensor(values, dtype=torch.float64, device="cpu").detach()

    return call


def _line_in(error: BaseException, source: str) -> int | None:
    """The last line of a file, or of a module, that the exception went through."""
    module = None if source.endswith(".py") else sys.modules.get(source)
    file = source if module is None else getattr(module, "__file__", None) or source
    path = pathlib.Path(file).resolve()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if pathlib.Path(frame.filename).resolve() == path]
    return lines[-1] if lines else None


def _in_one_line(error: BaseException, source: str) -> str:
    """ "line N: TYPE: TEXT", the line being one of `source`."""
    line = error.lineno if isinstance(error, SyntaxError) else _line_in(error, source)
    text = " ".join(str(error).split())
    return (f"line {line}: " if line else "") + type(error).__name__ + (f": {text}" if text else "")
