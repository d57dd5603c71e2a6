"""TRL's trainers over Cohort's engine: docs/python/trainer.md."""

from cohort.trainer.grpo_config import GRPOConfig
from cohort.trainer.grpo_trainer import GRPOTrainer

__all__ = ["GRPOConfig", "GRPOTrainer"]
