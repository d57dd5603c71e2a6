"""Cohort's engine in Python: `GRPOTrainer` as in TRL, `Engine` for a training loop of your own, `objectives` for losses and
advantages alone."""

import importlib
from typing import Any

import torch  # noqa: F401  the module is linked with its libraries

from cohort import objectives
from cohort.batch import Completion, Group, LossBatch
from cohort.engine import Engine, Snapshot
from cohort.sampling_params import SamplingParams
from cohort.tokenizer import Tokenizer

__all__ = [
    "Completion",
    "Engine",
    "Group",
    "LossBatch",
    "SamplingParams",
    "Snapshot",
    "Tokenizer",
    "objectives",
]

#: Loaded when first asked for: they need transformers, which the rest of the package does not.
_TRAINERS = ("GRPOConfig", "GRPOTrainer")


def __getattr__(name: str) -> Any:
    if name in _TRAINERS:
        return getattr(importlib.import_module("cohort.trainer"), name)
    raise AttributeError(f"module 'cohort' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_TRAINERS])
