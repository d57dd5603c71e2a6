"""Cohort in Python: `GRPOTrainer` as in TRL, `Engine` for a training loop of your own, `objectives` for losses and advantages
alone, `datasets` and `hub` for data and models. Each is loaded when it is first asked for."""

import importlib
from typing import Any

#: Where each name is; the trainers need transformers, which nothing else here does.
_MODULES = {
    "Completion": "cohort.batch",
    "Engine": "cohort.engine",
    "GRPOConfig": "cohort.trainer",
    "GRPOTrainer": "cohort.trainer",
    "Group": "cohort.batch",
    "LossBatch": "cohort.batch",
    "SamplingParams": "cohort.sampling_params",
    "Snapshot": "cohort.engine",
    "Tokenizer": "cohort.tokenizer",
}
_SUBMODULES = ("datasets", "hub", "objectives")

__all__ = [*sorted(_MODULES), *_SUBMODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"cohort.{name}")
    raise AttributeError(f"module 'cohort' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
