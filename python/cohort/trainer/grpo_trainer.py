"""`GRPOTrainer`: TRL 1.16's class of that name over Cohort's engine, in the same process."""

import logging
from typing import Any

from transformers import TrainerCallback

from cohort.batch import LossFunction
from cohort.functions import AdvantageFunction, OwnFunctions
from cohort.trainer.base_trainer import BaseTrainer, _native, refuse, refuse_always
from cohort.trainer.completions import print_completions
from cohort.trainer.grpo_config import GRPOConfig
from cohort.trainer.online_recipe import grpo_recipe
from cohort.trainer.rewards import RewardCalls, tables_of

logger = logging.getLogger(__name__)


class GRPOTrainer(BaseTrainer):
    """Trains a causal language model by GRPO (arXiv:2402.03300): draws groups of completions, scores them with
    `reward_funcs` and updates the policy.

    Args:
        model: directory or Hub id of a model, or a transformers model, whose parameters become views of the engine's
            weights (in float32) while it trains.
        reward_funcs: one or several: functions called with prompts, completions, completion_ids, the columns of the
            data set, trainer_state, log_extra and log_metric, which return a number or None for each completion, or
            coroutines that do; names of built-in rewards (docs/rewards.md), tables of a recipe's [[reward]], or
            directories of reward models.
        args: the settings.
        train_dataset: rows with a `prompt`, a string or a list of messages: a datasets.Dataset or IterableDataset, a
            list of dicts, or a path.
        eval_dataset: the same, or a dict of them by name.
        processing_class: the tokenizer; the model's own when not given.
        reward_processing_classes: refused; a reward model reads its own tokenizer.
        callbacks: transformers' TrainerCallback objects or classes.
        optimizers: refused; the engine has AdamW.
        peft_config: a PEFT LoraConfig: trains adapters.
        loss: a function in place of the loss of args.loss_type, as for Engine.forward_backward(): called for each
            micro-batch with policy_logprobs, old_logprobs, advantages, mask (float32 [N, T]) and a LossBatch, returns the
            loss, or it and a dict of metrics.
        advantages: a function in place of GRPO's advantages: called with the rewards, float64 [N], nan for completions that
            failed, and the number of each one's group, int64 [N]; returns an advantage for each.

    Raises ValueError, TypeError or OSError, with one line that says what to do, for what cannot be used.
    """

    _kind = "GRPO"
    _config = GRPOConfig
    _columns = (("prompt",),)

    def __init__(
        self,
        model: Any,
        reward_funcs: Any = None,
        args: GRPOConfig | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        reward_processing_classes: Any = None,
        callbacks: list[TrainerCallback | type[TrainerCallback]] | None = None,
        optimizers: tuple[Any, Any] = (None, None),
        quantization_config: Any = None,
        peft_config: Any = None,
        tools: Any = None,
        rollout_func: Any = None,
        environment_factory: Any = None,
        *,
        loss: LossFunction | None = None,
        advantages: AdvantageFunction | None = None,
    ):
        refuse_always(optimizers, quantization_config)
        refuse(
            reward_processing_classes=(
                reward_processing_classes is not None and _any(reward_processing_classes),
                "a reward model reads the tokenizer of its directory",
            ),
            tools=(bool(tools), "tools are not there yet"),
            rollout_func=(
                rollout_func is not None,
                "write your own loop with cohort.Engine: docs/python/own-loop.md",
            ),
            environment_factory=(environment_factory is not None, "environments are not there yet"),
        )
        super().__init__(model, args, train_dataset, eval_dataset, processing_class, callbacks, peft_config)
        self._own = OwnFunctions.given(loss, advantages, self.args.recipe)
        if reward_funcs is None:
            raise ValueError("reward_funcs is missing: give at least one reward function")
        self._tables = tables_of(reward_funcs, self.args.reward_weights, _native.reward_types())
        self.reward_func_names = [table["name"] for table in self._tables]
        self._calls = RewardCalls(
            {"train": self._train_rows, **self._eval_rows},
            self.state,
            self.args.reward_error == "mask",
            bool(self.args.remove_unused_columns),
        )
        self._callbacks.call("on_init_end")

    def _recipe(self, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
        own = self._own.keys()
        return grpo_recipe(self.args, self._reward_tables(), model, train, evaluation, self._peft_config, own)

    def _reward_tables(self) -> list[dict[str, Any]]:
        return [{key: value for key, value in table.items() if key != "function"} for table in self._tables]

    def _open_run(self, recipe: str, resume: bool) -> Any:
        functions = {
            table["name"]: self._calls.function(table["function"])
            for table in self._tables
            if "function" in table
        }
        return _native.grpo_run(recipe, resume, functions, **self._own.calls())

    def _after_step(self, run: Any, report: Any) -> None:
        for name, value in self._calls.take_metrics().items():
            report.add_metric(name, value)
        unscored = self._calls.take_unscored(len(self._tables))
        if unscored:
            logger.warning(
                "step %d: no reward function scored %d completions, such as one of %s; they carry no loss",
                run.step, len(unscored), unscored[0],
            )  # fmt: skip

    def _after_log(self, report: Any) -> None:
        if self.args.log_completions:
            print_completions(report.completions, self.state.global_step, self._calls.extra, self.args)

    def _forget_step(self) -> None:
        self._calls.extra.clear()


def _any(values: Any) -> bool:
    return any(one is not None for one in (values if isinstance(values, list | tuple) else [values]))
