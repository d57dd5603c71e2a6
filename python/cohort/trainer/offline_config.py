"""`OfflineConfig`: the settings that SFTConfig, DPOConfig and RewardConfig share."""

from dataclasses import dataclass

from cohort.trainer.base_config import BaseConfig
from cohort.trainer.base_config import setting as _setting


@dataclass
class OfflineConfig(BaseConfig):
    """How rows of given completions are read."""

    dataset_num_proc: int | None = _setting(
        None, "Has no meaning here: the engine reads rows in all threads."
    )
    max_length: int | None = _setting(1024, "Longest sequence, in tokens.")
    activation_offloading: bool = _setting(False, "Has no meaning here.")
    pad_token: str | None = _setting(None, "Has no meaning here: nothing is padded.")
