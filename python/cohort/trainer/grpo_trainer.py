"""`GRPOTrainer`: TRL 1.16's class of that name over Cohort's engine, in the same process."""

import json
import logging
import os
from types import SimpleNamespace
from typing import Any

from transformers import TrainerCallback

from cohort.batch import Group, LossFunction, groups_from
from cohort.functions import AdvantageFunction, OwnFunctions
from cohort.sampling_params import SamplingParams, keys_of
from cohort.trainer.arguments import refuse_always
from cohort.trainer.base_trainer import BaseTrainer, _native
from cohort.trainer.completions import log_completions
from cohort.trainer.data import Rows
from cohort.trainer.environments import Environments, begin_caller, own_prompts
from cohort.trainer.grpo_config import GRPOConfig
from cohort.trainer.online_recipe import grpo_recipe
from cohort.trainer.reward_models import give_tokenizers, written
from cohort.trainer.rewards import RewardCalls, name_of, weakly
from cohort.trainer.rollouts import RolloutFunction, rollout_caller, sampling_params_of

logger = logging.getLogger(__name__)


class GRPOTrainer(BaseTrainer):
    """Trains a causal language model by GRPO (arXiv:2402.03300): draws groups of completions, scores them with
    `reward_funcs` and updates the policy.

    Args:
        model: directory or Hub id of a model, or a transformers or PEFT model, whose parameters (of a PEFT model its
            adapters) become views of the engine's weights (in float32) while it trains.
        reward_funcs: one or several: functions called with prompts, completions, completion_ids, the columns of the
            data set, trainer_state, log_extra and log_metric, which return a number or None for each completion, or
            coroutines that do, which are awaited together; names of built-in rewards (docs/rewards.md), tables of a
            recipe's [[reward]], or reward models: directories or transformers models with one score.
        args: the settings.
        train_dataset: rows with a `prompt`, a string or a list of messages: a datasets.Dataset or IterableDataset, a
            list of dicts, or a path.
        eval_dataset: the same, or a dict of them by name.
        processing_class: the tokenizer; the model's own when not given.
        reward_processing_classes: tokenizers of the reward models, one for each reward function and None for those that
            are no models; a model's own when not given.
        callbacks: transformers' TrainerCallback objects or classes.
        optimizers: refused; the engine has AdamW.
        peft_config: a PEFT LoraConfig: trains adapters.
        tools: functions, plain or async, with type hints and Google's docstrings, that the policy may call.
        environment_factory: makes the environment of a completion: an object with reset(**row), whose text goes on after the
            prompt, public methods, which are tools, and perhaps get_reward(); or a dict of such callables, of which a row's
            column `environment` names one. Without train_dataset, reset() returns the prompt.
        rollout_func: samples in the engine's place: called with the prompts, each as often as it has completions, and the
            trainer, whose generate() it may use; returns prompt_ids, completion_ids and logprobs of each, and more columns
            for the reward functions.
        loss: a function in place of the loss of args.loss_type, as for Engine.forward_backward(): called for each
            micro-batch with policy_logprobs, old_logprobs, advantages, mask (float32 [N, T]) and a LossBatch, returns the
            loss, or it and a dict of metrics.
        advantages: a function in place of GRPO's advantages: called with the rewards, float64 [N], nan for completions that
            failed, and the number of each one's group, int64 [N]; returns an advantage for each.

    Raises ValueError, TypeError or OSError, with one line that says what to do, for what cannot be used.
    """

    _kind = "GRPO"
    _is_shared = True
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
        rollout_func: RolloutFunction | None = None,
        environment_factory: Any = None,
        *,
        loss: LossFunction | None = None,
        advantages: AdvantageFunction | None = None,
    ):
        refuse_always(optimizers, quantization_config)
        self._environments = Environments(tools, environment_factory)
        if environment_factory is not None:
            self._change_row = self._environments.changed
        if train_dataset is None and environment_factory is not None:
            train_dataset = own_prompts(environment_factory, args)
        super().__init__(model, args, train_dataset, eval_dataset, processing_class, callbacks, peft_config)
        self._tables = self._environments.with_rewards(reward_funcs, self.args, _native.reward_types())
        self.reward_func_names = [table["name"] for table in self._tables]
        self.reward_processing_classes = give_tokenizers(self._tables, reward_processing_classes)
        self.tools = list(tools or [])
        self.rollout_func = rollout_func
        self._own = OwnFunctions.given(loss, advantages, self.args.recipe)
        self._calls = RewardCalls(
            {"train": self._train_rows, **self._eval_rows},
            self.state,
            self.args.reward_error == "mask",
            bool(self.args.remove_unused_columns),
            self._environments,
        )
        self._callbacks.call("on_init_end")

    def _recipe(self, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
        recipe = grpo_recipe(
            self.args, self._reward_tables(), model, train, evaluation, self._peft_config, self._own.keys()
        )
        if self._environments and self.args.max_tool_calling_iterations is not None:
            turns = self.args.max_tool_calling_iterations + 1
            recipe["environment"] = {"max_turns": turns, **recipe.get("environment", {})}
        return recipe

    def _facts(self) -> list[tuple[str, str]]:
        names = "".join(f"reward {table['name']}, weight {table['weight']}\n" for table in self._tables)
        tools = json.dumps(self._environments.schemas(), indent=1) if self._environments else ""
        own = {"loss": self._own.loss, "advantages": self._own.advantages, "rollout_func": self.rollout_func}
        facts = [(name, "none" if function is None else name_of(function)) for name, function in own.items()]
        return [*super()._facts(), ("list of reward functions", names), ("list of tools", tools), *facts]

    def _reward_tables(self) -> list[dict[str, Any]]:
        return [written(table, os.path.join(self.args.output_dir, "inputs")) for table in self._tables]

    def _open_run(self, recipe: str, resume: bool) -> Any:
        self._functions = {
            table["name"]: self._calls.function(table["function"])
            for table in self._tables
            if "function" in table
        }
        self._others = self._own.calls()
        if self.rollout_func is not None:
            self._others["rollout"] = rollout_caller(
                self.rollout_func, self, self._calls.row, self._calls.take_columns
            )
        functions = {name: weakly(function) for name, function in self._functions.items()}
        others = {name: weakly(function) for name, function in self._others.items()}
        if self._environments:
            self._begin = begin_caller(self._environments, self._calls.row)
            others["environment"] = SimpleNamespace(
                schemas=json.dumps(self._environments.schemas()),
                begin=weakly(self._begin),
                respond=self._environments.respond,
                judge=self._environments.judge,
                gives_states=self._environments.gives_states,
                gives_turn_rewards=self._environments.gives_turn_rewards,
            )
        return _native.grpo_run(recipe, resume, functions, **others)

    def generate(self, prompts: Any, sampling_params: SamplingParams | None = None) -> list[Group]:
        """Completions by the weights as they are now, a Group for each prompt: a text, a list of messages or token ids. The
        defaults are the run's settings; within a rollout_func its draws are those that the engine would make."""
        params = sampling_params if sampling_params is not None else sampling_params_of(self.args)
        run = self._started_run()
        drawn = run.generate(list(prompts), keys_of(params), run.step + 1)
        return groups_from(drawn, float(params.temperature) or 1.0)

    def _evaluate_on(self, rows: Rows) -> dict[str, float]:
        run, path = self._started_run(), self._given_file(rows)
        self._calls.add_data(rows)
        try:
            found = run.evaluate_on([path], self.args.num_generations_eval or self.args.num_generations)
            return found | self._calls.take_metrics()
        finally:
            self._calls.end_evaluation(rows)
            self._environments.end_step()
            self._remove_given(path)

    def _after_step(self, run: Any, report: Any) -> None:
        self._calls.take_columns({})  # an evaluation has none of the step's
        for name, value in self._calls.take_metrics().items():
            report.add_metric(name, value)
        unscored = self._calls.take_unscored(len(self._tables))
        if unscored:
            logger.warning(
                "step %d: no reward function scored %d completions, such as one of %s; they carry no loss",
                run.step, len(unscored), unscored[0],
            )  # fmt: skip

    def _after_evaluation(self, report: Any) -> None:
        for name, value in self._calls.take_metrics().items():
            report.add_metric(f"eval_{name}", value)

    def _after_log(self, report: Any) -> None:
        if not self.args.log_completions:
            return
        rows = [json.loads(row) for row in report.completions]
        extra = self._calls.extra_of(rows)
        if self._processes.is_first:
            log_completions(rows, self.state.global_step, extra, self.args)

    def _forget_step(self) -> None:
        self._calls.forget_extra()
        self._environments.end_step()
