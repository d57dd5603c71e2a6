"""`RewardTrainer`: TRL 1.16's class of that name over Cohort's engine, in the same process."""

from typing import Any

from transformers import TrainerCallback

from cohort.trainer.arguments import refuse, refuse_always, refuse_functions
from cohort.trainer.base_trainer import BaseTrainer, _native
from cohort.trainer.offline_recipe import reward_recipe
from cohort.trainer.reward_config import RewardConfig


class RewardTrainer(BaseTrainer):
    """Trains a reward model on preferences (Bradley-Terry; arXiv:2203.02155 eq. 1).

    Args:
        model: directory or Hub id of a model, whose head for sequences is trained with it, a new one where it has none;
            or a transformers model with such a head.
        args: the settings.
        train_dataset: rows with `chosen` and `rejected`, and mostly `prompt` and perhaps `margin`. A datasets.Dataset or
            IterableDataset, a list of dicts, or a path.
        eval_dataset: the same, or a dict of them by name.
        processing_class: the tokenizer; the model's own when not given.
        callbacks: transformers' TrainerCallback objects or classes.
        data_collator, compute_metrics, optimizers, optimizer_cls_and_kwargs, preprocess_logits_for_metrics,
            quantization_config, peft_config: refused.

    Raises ValueError, TypeError or OSError, with one line that says what to do, for what cannot be used.
    """

    _kind = "Reward"
    _config = RewardConfig
    _columns = (("chosen", "rejected"),)
    _auto_class = "AutoModelForSequenceClassification"

    def __init__(
        self,
        model: Any,
        args: RewardConfig | None = None,
        data_collator: Any = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        compute_metrics: Any = None,
        callbacks: list[TrainerCallback | type[TrainerCallback]] | None = None,
        optimizers: tuple[Any, Any] = (None, None),
        optimizer_cls_and_kwargs: Any = None,
        preprocess_logits_for_metrics: Any = None,
        quantization_config: Any = None,
        peft_config: Any = None,
    ):
        refuse_always(optimizers, quantization_config)
        refuse_functions(
            data_collator=data_collator,
            compute_metrics=compute_metrics,
            optimizer_cls_and_kwargs=optimizer_cls_and_kwargs,
            preprocess_logits_for_metrics=preprocess_logits_for_metrics,
        )
        refuse(peft_config=(peft_config is not None, "a reward model is trained whole"))
        super().__init__(model, args, train_dataset, eval_dataset, processing_class, callbacks, None)
        self._callbacks.call("on_init_end")

    def _recipe(self, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
        return reward_recipe(self.args, model, train, evaluation)

    def _open_run(self, recipe: str, resume: bool) -> Any:
        return _native.reward_run(recipe, resume)
