"""`BaseConfig`: the settings that the configs of all trainers share, with TRL 1.16's defaults."""

from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import TrainingArguments


def setting(default: Any, meaning: str) -> Any:
    """A field of a config with its default and its line of help."""
    return field(default=default, metadata={"help": meaning})


@dataclass
class BaseConfig(TrainingArguments):
    """The settings of transformers that the trainers read, and those of the model."""

    _VALID_DICT_FIELDS = TrainingArguments._VALID_DICT_FIELDS + ["model_init_kwargs", "recipe"]

    # Of transformers, with TRL's defaults.
    logging_steps: float = setting(
        10, "Updates between two lines of the log; below 1 a share of all updates."
    )
    gradient_checkpointing: bool = setting(True, "Has no meaning here: the engine plans its memory.")
    bf16: bool | None = setting(
        None, "Compute in bfloat16, with weights in float32; unset: unless fp16 is set."
    )
    use_liger_kernel: bool = setting(False, "Has no meaning here.")
    torch_empty_cache_steps: int | None = setting(None, "Has no meaning here.")
    lr_scheduler_kwargs: dict | str | None = setting(
        None, "Numbers of the schedule, such as {'num_cycles': 2}."
    )

    # The model.
    model_init_kwargs: dict[str, Any] | str | None = setting(
        None, "`dtype` and `revision` of a model that is a string."
    )
    trust_remote_code: bool = setting(False, "Refused: the engine runs no code of a model.")
    pad_to_multiple_of: int | str | None = setting("auto", "Has no meaning here: nothing is padded.")

    # Of Cohort.
    recipe: dict[str, Any] | str | None = setting(
        None,
        "More keys of a recipe (docs/configuration.md), such as {'train.recompute': True}; they win.",
    )

    def __post_init__(self) -> None:
        if self.bf16 is None:
            self.bf16 = not self.fp16
        if not torch.cuda.is_available():
            self.use_cpu = True
        super().__post_init__()

    @property
    def rows_per_step(self) -> int:
        """Rows of the data set that a step of the engine reads."""
        return self.per_device_train_batch_size * self.gradient_accumulation_steps

    @property
    def updates_per_step(self) -> int:
        """Updates that a step of the engine makes."""
        return 1

    @property
    def samples_per_update(self) -> int:
        """Rows or completions that train_samples_per_second counts in an update."""
        return self.rows_per_step
