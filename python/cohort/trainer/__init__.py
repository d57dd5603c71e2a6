"""TRL's trainers over Cohort's engine: docs/python/trainer.md."""

from cohort.trainer.dpo_config import DPOConfig
from cohort.trainer.dpo_trainer import DPOTrainer
from cohort.trainer.grpo_config import GRPOConfig
from cohort.trainer.grpo_trainer import GRPOTrainer
from cohort.trainer.reward_config import RewardConfig
from cohort.trainer.reward_trainer import RewardTrainer
from cohort.trainer.rloo_config import RLOOConfig
from cohort.trainer.rloo_trainer import RLOOTrainer
from cohort.trainer.sft_config import SFTConfig
from cohort.trainer.sft_trainer import SFTTrainer

__all__ = [
    "DPOConfig",
    "DPOTrainer",
    "GRPOConfig",
    "GRPOTrainer",
    "RLOOConfig",
    "RLOOTrainer",
    "RewardConfig",
    "RewardTrainer",
    "SFTConfig",
    "SFTTrainer",
]
