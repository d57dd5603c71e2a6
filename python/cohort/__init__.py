"""Cohort's engine in Python.

`GRPOTrainer`, `RLOOTrainer`, `SFTTrainer`, `DPOTrainer` and `RewardTrainer` are called as TRL's. `Engine` is for a training
loop of your own, `objectives` for losses and advantages alone, `datasets` for rows of data sets, `hub` for models that are
downloaded. Each is imported at its first use: `datasets` and `hub` need no torch, and the trainers alone need transformers.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cohort import datasets, hub, objectives
    from cohort.batch import Completion, Group, LossBatch
    from cohort.engine import Engine, Snapshot
    from cohort.sampling_params import SamplingParams
    from cohort.tokenizer import Tokenizer
    from cohort.trainer import (
        DPOConfig,
        DPOTrainer,
        GRPOConfig,
        GRPOTrainer,
        RewardConfig,
        RewardTrainer,
        RLOOConfig,
        RLOOTrainer,
        SFTConfig,
        SFTTrainer,
    )

# As in the program (apps/cli/openmp_wait.cpp): threads that spin long at a barrier slow training down. libgomp reads it when
# torch loads it, so that it helps where cohort is imported before torch.
if "torch" not in sys.modules and "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "30000")

__all__ = [
    "Completion",
    "DPOConfig",
    "DPOTrainer",
    "Engine",
    "GRPOConfig",
    "GRPOTrainer",
    "Group",
    "LossBatch",
    "RLOOConfig",
    "RLOOTrainer",
    "RewardConfig",
    "RewardTrainer",
    "SFTConfig",
    "SFTTrainer",
    "SamplingParams",
    "Snapshot",
    "Tokenizer",
    "datasets",
    "hub",
    "objectives",
]

_MODULES = {
    "Completion": "batch",
    "Engine": "engine",
    **{
        f"{kind}{part}": "trainer"
        for kind in ("DPO", "GRPO", "RLOO", "Reward", "SFT")
        for part in ("Config", "Trainer")
    },
    "Group": "batch",
    "LossBatch": "batch",
    "SamplingParams": "sampling_params",
    "Snapshot": "engine",
    "Tokenizer": "tokenizer",
}


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'cohort' has no attribute {name!r}")
    module = importlib.import_module(f"cohort.{_MODULES.get(name, name)}")
    return getattr(module, name) if name in _MODULES else module


def __dir__():
    return sorted([*globals(), *__all__])
