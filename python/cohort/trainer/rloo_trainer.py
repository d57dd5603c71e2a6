"""`RLOOTrainer`: TRL 1.16's class of that name over Cohort's engine, in the same process."""

from typing import Any

from transformers import TrainerCallback

from cohort.trainer.grpo_trainer import GRPOTrainer
from cohort.trainer.online_recipe import rloo_recipe
from cohort.trainer.rloo_config import RLOOConfig


class RLOOTrainer(GRPOTrainer):
    """Trains a causal language model by RLOO (arXiv:2402.14740): the baseline of a completion is the mean reward of the
    others of its group. Arguments as GRPOTrainer's."""

    _kind = "RLOO"
    _config = RLOOConfig

    def __init__(
        self,
        model: Any,
        reward_funcs: Any = None,
        args: RLOOConfig | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        reward_processing_classes: Any = None,
        callbacks: list[TrainerCallback | type[TrainerCallback]] | None = None,
        optimizers: tuple[Any, Any] = (None, None),
        quantization_config: Any = None,
        peft_config: Any = None,
    ):
        super().__init__(
            model,
            reward_funcs,
            args,
            train_dataset,
            eval_dataset,
            processing_class,
            reward_processing_classes,
            callbacks,
            optimizers,
            quantization_config,
            peft_config,
        )

    def _recipe(self, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
        return rloo_recipe(self.args, self._reward_tables(), model, train, evaluation, self._peft_config)
