"""`RewardConfig`: the settings of TRL 1.16's class of that name, with its defaults."""

from dataclasses import dataclass

from cohort.trainer.base_config import setting as _setting
from cohort.trainer.offline_config import OfflineConfig


@dataclass
class RewardConfig(OfflineConfig):
    """How `RewardTrainer` trains."""

    learning_rate: float = _setting(1e-4, "Peak learning rate of AdamW.")
    chat_template_path: str | None = _setting(
        None, "File with a chat template that takes the place of the model's."
    )
    disable_dropout: bool = _setting(True, "Has no meaning here: reward models train without dropout.")
    eos_token: str | None = _setting(None, "Refused: the model's own ends a completion.")
    center_rewards_coefficient: float | None = _setting(
        None, "Weight of the squared sum of a pair's scores (arXiv:2312.09244 eq. 2)."
    )
