"""`RLOOConfig`: the settings of TRL 1.16's class of that name, with its defaults."""

from dataclasses import dataclass

from cohort.trainer.base_config import setting as _setting
from cohort.trainer.online_config import OnlineConfig


@dataclass
class RLOOConfig(OnlineConfig):
    """How `RLOOTrainer` trains; otherwise as GRPOConfig."""

    num_generations: int | None = _setting(2, "Completions of each prompt.")
    beta: float = _setting(0.05, "Weight of the KL divergence to the reference, which the rewards pay.")
    normalize_advantages: bool = _setting(
        False, "Divide advantages by their standard deviation in the batch."
    )
    reward_clip_range: tuple[float, float] | None = _setting(None, "Refused.")
