"""`BaseConfig`: the settings that the configs of all trainers share, with TRL 1.16's defaults."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from transformers import TrainingArguments

from cohort.trainer.processes import processes


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
        name = self.metric_for_best_model
        if name is not None and self.greater_is_better == name.endswith("loss"):
            raise ValueError(
                f"greater_is_better = {self.greater_is_better} is not supported with {name!r}: the engine keeps the model "
                "with the smallest loss or with the largest other metric"
            )

    @cached_property
    def _setup_devices(self) -> torch.device:
        """As transformers' for one process; several meet in the engine and not in torch.distributed."""
        if self.world_size == 1:
            return TrainingArguments._setup_devices.func(self)
        self.distributed_state, self._n_gpu = None, 0
        return torch.device("cpu")

    @property
    def world_size(self) -> int:
        """Processes that train together."""
        return processes().size

    @property
    def process_index(self) -> int:
        """The rank of this one."""
        return processes().rank

    @property
    def local_process_index(self) -> int:
        """Its rank on its machine."""
        return processes().local_rank

    @contextlib.contextmanager
    def main_process_first(self, local: bool = True, desc: str = "work") -> Iterator[None]:
        """What the first process does before all others, or, with `local`, the first one of each machine."""
        is_main = (self.local_process_index if local else self.process_index) == 0
        if not is_main:
            processes().barrier(desc)
        try:
            yield
        finally:
            if is_main:
                processes().barrier(desc)

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
