"""`SFTTrainer`: TRL 1.16's class of that name over Cohort's engine, in the same process."""

from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback

from cohort.trainer.arguments import refuse_always, refuse_functions
from cohort.trainer.base_trainer import BaseTrainer, _native
from cohort.trainer.data import in_chatml
from cohort.trainer.offline_recipe import sft_recipe
from cohort.trainer.sft_config import SFTConfig


class SFTTrainer(BaseTrainer):
    """Trains a causal language model on demonstrations: maximizes the mean log-probability of their tokens.

    Args:
        model: directory or Hub id of a model, or a transformers model, as for GRPOTrainer.
        args: the settings.
        train_dataset: rows with `prompt` and `completion` (strings or lists of messages), with `messages`, or with the
            column args.dataset_text_field: a datasets.Dataset or IterableDataset, a list of dicts, or a path.
        eval_dataset: the same, or a dict of them by name.
        processing_class: the tokenizer; the model's own when not given.
        callbacks: transformers' TrainerCallback objects or classes.
        peft_config: a PEFT LoraConfig: trains adapters.
        formatting_func: row -> text, which takes the place of the row.
        data_collator, compute_loss_func, compute_metrics, optimizers, optimizer_cls_and_kwargs,
            preprocess_logits_for_metrics, quantization_config: refused.

    Raises ValueError, TypeError or OSError, with one line that says what to do, for what cannot be used.
    """

    _kind = "SFT"
    _config = SFTConfig
    _has_dropout = True
    _columns = (("prompt", "completion"), ("messages",), ("text",))

    def __init__(
        self,
        model: Any,
        args: SFTConfig | None = None,
        data_collator: Any = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        compute_loss_func: Any = None,
        compute_metrics: Any = None,
        callbacks: list[TrainerCallback | type[TrainerCallback]] | None = None,
        optimizers: tuple[Any, Any] = (None, None),
        optimizer_cls_and_kwargs: Any = None,
        preprocess_logits_for_metrics: Any = None,
        quantization_config: Any = None,
        peft_config: Any = None,
        formatting_func: Callable[[dict[str, Any]], str] | None = None,
    ):
        refuse_always(optimizers, quantization_config)
        refuse_functions(
            data_collator=data_collator,
            compute_loss_func=compute_loss_func,
            compute_metrics=compute_metrics,
            optimizer_cls_and_kwargs=optimizer_cls_and_kwargs,
            preprocess_logits_for_metrics=preprocess_logits_for_metrics,
        )
        self._formatting_func = formatting_func
        super().__init__(
            model,
            args,
            train_dataset,
            eval_dataset,
            processing_class,
            callbacks,
            peft_config,
        )
        self._callbacks.call("on_init_end")

    def _change_row(self, row: dict[str, Any]) -> dict[str, Any]:
        if self._formatting_func is not None:
            return {"text": self._formatting_func(row)}
        field = self.args.dataset_text_field
        if field != "text" and field in row and "messages" not in row:
            return {"text": row[field]}
        return in_chatml(row)

    def _recipe(self, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
        has_completions = "completion" in self._train_rows.row(0)
        return sft_recipe(self.args, has_completions, model, train, evaluation, self._peft_config)

    def _open_run(self, recipe: str, resume: bool) -> Any:
        return _native.sft_run(recipe, resume)
