"""TRL's trainers over Cohort's engine: docs/python/trainer.md."""

import cohort.trainer.transformers_pieces  # noqa: F401  before what imports transformers
from cohort.trainer.grpo_config import GRPOConfig
from cohort.trainer.grpo_trainer import GRPOTrainer

__all__ = ["GRPOConfig", "GRPOTrainer"]
