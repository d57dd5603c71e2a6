"""Cohort in Python: `cohort.objectives`, `cohort.datasets` and `cohort.hub`, each imported at its first use."""

import importlib

__all__ = ["datasets", "hub", "objectives"]


def __getattr__(name):
    if name in __all__:
        return importlib.import_module(f"cohort.{name}")
    raise AttributeError(f"module 'cohort' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])
