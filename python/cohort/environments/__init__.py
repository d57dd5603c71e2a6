"""Environments for `GRPOTrainer(environment_factory=...)` and for `[environment] python = "cohort.environments:NAME"`.

`KeyDoor`, `MultiHop` and `Phone` need the standard library alone. The modules `gymnasium_env`, `textarena_env`,
`verifiers_env` and `openenv_env` serve environments of these packages; each imports its package at its first use.
"""

from cohort.environments.demonstrations import conversation
from cohort.environments.key_door import KeyDoor
from cohort.environments.multi_hop import MultiHop
from cohort.environments.phone import Phone

__all__ = ["KeyDoor", "MultiHop", "Phone", "conversation"]
