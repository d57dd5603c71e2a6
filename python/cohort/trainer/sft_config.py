"""`SFTConfig`: the settings of TRL 1.16's class of that name, with its defaults."""

from dataclasses import dataclass
from typing import Any

from cohort.trainer.base_config import setting as _setting
from cohort.trainer.offline_config import OfflineConfig


@dataclass
class SFTConfig(OfflineConfig):
    """How `SFTTrainer` trains."""

    learning_rate: float = _setting(2e-5, "Peak learning rate of AdamW.")
    router_aux_loss_coef: float | None = _setting(
        None, "Weight of the load-balancing loss of experts; unset: config.json's."
    )
    chat_template_path: str | None = _setting(
        None, "File with a chat template that takes the place of the model's."
    )
    dataset_text_field: str = _setting("text", "Column of rows that are texts.")
    truncation_mode: str = _setting("keep_start", "Refused unless keep_start.")
    dataset_kwargs: dict[str, Any] | None = _setting(None, "Refused.")
    eos_token: str | None = _setting(None, "Refused: the model's own ends a completion.")
    shuffle_dataset: bool = _setting(False, "Has no meaning here: train_sampling_strategy shuffles.")
    packing: bool = _setting(False, "Refused.")
    packing_strategy: str = _setting("bfd", "Has no meaning here.")
    padding_free: bool = _setting(False, "Has no meaning here: nothing is padded.")
    eval_packing: bool | None = _setting(None, "Refused.")
    completion_only_loss: bool | None = _setting(
        None, "Learn completions alone; unset: where rows have a `completion`."
    )
    assistant_only_loss: bool = _setting(False, "Learn the assistant's messages alone.")
    loss_type: str = _setting("nll", "nll, the mean negative log-probability.")
