"""`DPOTrainer`: TRL 1.16's class of that name over Cohort's engine, in the same process."""

from typing import Any

from transformers import TrainerCallback

from cohort.trainer.arguments import refuse, refuse_always, refuse_functions
from cohort.trainer.base_trainer import BaseTrainer, _native
from cohort.trainer.dpo_config import DPOConfig
from cohort.trainer.offline_recipe import dpo_recipe


class DPOTrainer(BaseTrainer):
    """Trains a causal language model on preferences by DPO (arXiv:2305.18290) and its relatives.

    Args:
        model: directory or Hub id of a model, or a transformers model, as for GRPOTrainer.
        ref_model: refused; the reference is the model as it is before the first step.
        args: the settings.
        train_dataset: rows with `chosen` and `rejected`, and mostly `prompt`: strings or lists of messages. A
            datasets.Dataset or IterableDataset, a list of dicts, or a path.
        eval_dataset: the same, or a dict of them by name.
        processing_class: the tokenizer; the model's own when not given.
        callbacks: transformers' TrainerCallback objects or classes.
        peft_config: a PEFT LoraConfig: trains adapters; the reference is the model without them.
        data_collator, compute_metrics, optimizers, quantization_config: refused.

    Raises ValueError, TypeError or OSError, with one line that says what to do, for what cannot be used.
    """

    _kind = "DPO"
    _config = DPOConfig
    _columns = (("chosen", "rejected"),)

    def __init__(
        self,
        model: Any,
        ref_model: Any = None,
        args: DPOConfig | None = None,
        data_collator: Any = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        compute_metrics: Any = None,
        callbacks: list[TrainerCallback | type[TrainerCallback]] | None = None,
        optimizers: tuple[Any, Any] = (None, None),
        quantization_config: Any = None,
        peft_config: Any = None,
    ):
        refuse_always(optimizers, quantization_config)
        refuse_functions(data_collator=data_collator, compute_metrics=compute_metrics)
        refuse(
            ref_model=(
                ref_model is not None,
                "the reference is the model as it is before the first step; leave it out",
            )
        )
        super().__init__(model, args, train_dataset, eval_dataset, processing_class, callbacks, peft_config)
        self._callbacks.call("on_init_end")

    def _recipe(self, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
        return dpo_recipe(self.args, model, train, evaluation, self._peft_config)

    def _open_run(self, recipe: str, resume: bool) -> Any:
        return _native.dpo_run(recipe, resume)
