"""What every tracker does, and what all of them share."""

import dataclasses
import importlib
import json
from typing import Any


class TrackerError(Exception):
    """A tracker that can't be reached or refuses; the text is one line."""


@dataclasses.dataclass
class TrackedRun:
    """The run as its tracker knows it."""

    id: str  # 32 hexadecimal digits, the same at each start
    tracker_id: str | None  # the tracker's own, once it has one
    project: str
    name: str
    group: str | None
    tags: list[str]
    config: dict[str, Any]  # the resolved recipe
    has_steps: bool  # whether an earlier process sent steps


class Tracker:
    """One run of one tracker. Any exception of a method means that the call may be tried again."""

    package: str  # what Python imports

    def __init__(self):
        self.module = import_package(self.package)

    def begin(self, run: TrackedRun) -> str:
        """Creates the run, or continues the one with its id. Returns the tracker's own id of it."""
        raise NotImplementedError

    def configure(self, config: dict[str, Any]) -> None:
        """Takes the recipe, after a `--resume` with other settings once more."""
        raise NotImplementedError

    def table(self, step: int, columns: list[str], rows: list[list[Any]]) -> None:
        """Takes a step's completions; called before `log` of the step."""
        raise NotImplementedError

    def log(self, step: int, position: int, figures: dict[str, float]) -> None:
        """Takes a step's figures. `position` is the step, but always greater than that of the call before, also where
        the run went back and sends a step again."""
        raise NotImplementedError

    def end(self, status: str, summary: dict[str, Any]) -> None:
        """Ends the connection when all is delivered. `status`: finished, stopped or running."""
        raise NotImplementedError


def import_package(name):
    """Raises ImportError that says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ImportError(f"{name} is not installed: run `pip install {name}`") from None


def flat(config, prefix=""):
    """A recipe with keys such as `train.max_steps` and `reward.0.name`, for trackers whose settings are flat."""
    values = {}
    for key, value in config.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            value = {str(index): item for index, item in enumerate(value)}
        if isinstance(value, dict):
            values |= flat(value, f"{prefix}{key}.")
        else:
            values[prefix + key] = value
    return values


def text_of(value):
    """A setting as text: texts as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def table_file(step):
    """Where trackers that keep tables as files put that of a step, without extension."""
    return f"completions/step-{step:08d}"
