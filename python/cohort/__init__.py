"""Cohort's objectives for research in Python: see `cohort.objectives`."""

import torch  # noqa: F401  the module is linked with its libraries

from cohort import objectives

__all__ = ["objectives"]
