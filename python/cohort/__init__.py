"""Cohort's engine in Python: `Engine` for a training loop of your own, `objectives` for losses and advantages alone."""

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
