"""What the trainers have in common: a run of the engine, its steps, callbacks, log and checkpoints."""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch  # noqa: F401  the extension is linked with its libraries
from transformers import TrainerCallback
from transformers.trainer_utils import TrainOutput

from cohort._cohort import trainer as _native
from cohort.trainer.base_config import BaseConfig
from cohort.trainer.best_model import load_best_model, note_evaluation
from cohort.trainer.callbacks import Callbacks
from cohort.trainer.checkpoints import newest_checkpoint, resumes
from cohort.trainer.data import Rows, evaluation_rows, named_parts, whole_rows
from cohort.trainer.inputs import recipe_path, write_inputs
from cohort.trainer.log import StepLog
from cohort.trainer.model_source import ModelSource
from cohort.trainer.processes import processes
from cohort.trainer.recipe import check_lora_settings
from cohort.trainer.saving import push, save_model
from cohort.trainer.settings import check_settings
from cohort.trainer.turns import not_twice

logger = logging.getLogger(__name__)

#: Settings that processes of one run may have of their own.
_OWN_SETTINGS = ("local_rank", "run_name", "report_to", "disable_tqdm", "log_level", "log_level_replica")


class BaseTrainer:
    """A run of the engine in this process, or in several that a launcher started, which call the same methods. Subclasses
    say by `_recipe` and `_open_run` what is trained."""

    #: Of the trainer's name and of args.
    _kind: str = ""
    #: Whether several processes may share its run.
    _is_shared = False
    _config: type[BaseConfig] = BaseConfig
    #: Whether adapters are trained with dropout.
    _has_dropout = False
    #: The columns that a row must have: one of these sets.
    _columns: tuple[tuple[str, ...], ...] = ()
    #: What is done to each row of the data.
    _change_row: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    #: The class that loads `model`.
    _auto_class = "AutoModelForCausalLM"

    def __init__(
        self,
        model: Any,
        args: Any,
        train_dataset: Any,
        eval_dataset: Any,
        processing_class: Any,
        callbacks: list[TrainerCallback | type[TrainerCallback]] | None,
        peft_config: Any,
    ):
        """Checks all that can be checked before the engine opens the run."""
        if train_dataset is None:
            raise ValueError("train_dataset is missing")
        self._processes = processes()
        if self._processes.size > 1 and not self._is_shared:
            raise ValueError(
                f"{type(self).__name__} trains in one process, and there are {self._processes.size}: start the program without "
                "a launcher; GRPOTrainer and RLOOTrainer alone share a run"
            )
        init = dict(getattr(args, "model_init_kwargs", None) or {})
        self._source = ModelSource(model, processing_class, peft_config, init, self._auto_class)
        self.args = args if args is not None else self._config(f"{self._source.name}-{self._kind}")
        warnings = check_settings(self.args)
        for line in warnings if self._processes.is_first else []:
            logger.warning(line)
        if peft_config is not None:
            check_lora_settings(peft_config)
        self._peft_config = peft_config
        if eval_dataset is None and self.args.eval_strategy != "no":
            raise ValueError(f"args.eval_strategy is {self.args.eval_strategy}, but there is no eval_dataset")
        needed = self.args.max_steps * self.args.rows_per_step if self.args.max_steps > 0 else None
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self._train_rows = Rows(train_dataset, "train_dataset", self._columns, needed, self._change_row)
        self._eval_rows = evaluation_rows(eval_dataset, self._columns, self._change_row)
        self._callbacks = Callbacks(self.args, self._source, callbacks or [], self._state_values())
        self.state, self.control = self._callbacks.state, self._callbacks.control
        self._log = StepLog()
        self._run: Any = None
        self._pending: Any = None  # the report of a step that is not written yet

    # What a subclass says.

    def _recipe(self, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
        """The recipe that the settings stand for: directory of the model, files of rows."""
        raise NotImplementedError

    def _open_run(self, recipe: str, resume: bool) -> Any:
        """The native run of a recipe's file."""
        raise NotImplementedError

    def _after_step(self, run: Any, report: Any) -> None:
        """Adds to the report of a step what it lacks."""

    def _evaluate_on(self, rows: Rows) -> dict[str, float]:
        """The metrics of an evaluation on other rows than the trainer's."""
        run, path = self._started_run(), self._given_file(rows)
        try:
            return run.evaluate_on([path])
        finally:
            self._remove_given(path)

    def _given_file(self, rows: Rows) -> str:
        """Writes rows for an evaluation; returns the path."""
        rows.name = "given-" + rows.name.replace(os.sep, "_")
        path = os.path.join(self.args.output_dir, "inputs", rows.name + ".jsonl")
        if self._processes.is_first:
            rows.write(path)
        self._processes.barrier("the rows of an evaluation")
        return path

    def _remove_given(self, path: str) -> None:
        if self._processes.is_first:
            os.remove(path)

    def _facts(self) -> list[tuple[str, str]]:
        """What several processes must have in common, by name."""
        settings = {name: value for name, value in self.args.to_dict().items() if name not in _OWN_SETTINGS}
        lines = "".join(f"{name} = {json.dumps(value, default=str)}\n" for name, value in settings.items())
        data = {self._train_rows.name: self._train_rows, **self._eval_rows}
        names = [("model", self._source.name), ("list of data sets", "\n".join(data))]
        return [("setting", lines), *names, *((name, rows.digest()) for name, rows in data.items())]

    def _after_evaluation(self, report: Any) -> None:
        """Adds to the report of an evaluation what it lacks."""

    def _after_log(self, report: Any) -> None:
        """Shows more of a step whose line was logged."""

    def _forget_step(self) -> None:
        """Drops what was collected for the step that is over."""

    # What TRL's users call.

    @not_twice
    def train(self, resume_from_checkpoint: str | bool | None = None, **unused: Any) -> TrainOutput:
        """Runs to the last step and writes output_dir/final. True continues the run in output_dir from its newest
        checkpoint. What a callback or a function raises ends the run: of one process after a checkpoint, of several with
        RankLost in the others, or their exit."""
        if unused:
            raise TypeError(f"train() has no argument {', '.join(unused)}")
        resume = (
            resume_from_checkpoint if resume_from_checkpoint is not None else self.args.resume_from_checkpoint
        )
        is_resumed = resumes(resume, self.args.output_dir)
        with self._processes.together():
            return self._train(is_resumed)

    def _train(self, resume: bool) -> TrainOutput:
        began, run = time.time(), self._open(resume)
        first_step = self.state.global_step
        self._callbacks.call("on_train_begin")
        try:
            self._take_steps(run)
        except BaseException:
            # The parent's files are the parent's to write, and several processes write a checkpoint together.
            if not run.is_forked and self._processes.size == 1:
                self._end_step(run)
                if run.step > 0:
                    self._save(run)
            raise
        if run.goes_on:
            self._save(run)
        else:
            run.finish()
        self._save_state_beside_checkpoint(run)
        self.control.should_log = True
        seconds, updates = time.time() - began, self.state.global_step - first_step
        metrics = {
            "train_runtime": round(seconds, 4),
            "train_samples_per_second": round(updates * self.args.samples_per_update / seconds, 3),
            "train_steps_per_second": round(updates / seconds, 3),
            "train_loss": self._log.mean_loss(),
        }
        self.log({**(self._log.take() if self._log.has_steps else {}), **metrics})
        load_best_model(self.args, self.state, run)
        self._callbacks.call("on_train_end")
        if self.args.push_to_hub:
            self.push_to_hub()
        return TrainOutput(self.state.global_step, metrics["train_loss"], metrics)

    def evaluate(
        self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """Evaluates the model on the trainer's eval_dataset, or on `eval_dataset`, which may be a dict of data sets or a
        name in the trainer's; returns the metrics, which are logged too. Names in a dict stand after the prefix."""
        if eval_dataset is None and metric_key_prefix == "eval":
            if not self._eval_rows:
                raise ValueError("there is no eval_dataset")
            with self._processes.together():
                return self._evaluate_own()
        parts = named_parts(eval_dataset, metric_key_prefix, self.eval_dataset)
        with self._processes.together():
            return self._evaluate_parts(parts)

    def _evaluate_own(self) -> dict[str, float]:
        report = _native.StepReport()
        self._started_run().evaluate(report)
        self._after_evaluation(report)
        self._forget_step()
        return self._log_evaluation(report.metrics)

    def _evaluate_parts(self, parts: Mapping[str, Any]) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for prefix, part in parts.items():
            found = self._evaluate_on(whole_rows(part, prefix, self._columns, self._change_row))
            named = {f"{prefix}_{key.removeprefix('eval_')}": value for key, value in found.items()}
            self.log(named)
            self._callbacks.call("on_evaluate", metrics=named)
            metrics |= named
        return metrics

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Writes the model, or its adapters, in the format of the Hub; into args.output_dir if no directory is given."""
        run = self._started_run()
        if self._processes.is_first:
            save_model(run, self.args.output_dir, os.fspath(output_dir or self.args.output_dir))

    def save_state(self) -> None:
        """Writes trainer_state.json into args.output_dir."""
        if self._processes.is_first:
            self.state.save_to_json(os.path.join(self.args.output_dir, "trainer_state.json"))

    def push_to_hub(
        self, commit_message: str = "End of training", blocking: bool = True, **kwargs: Any
    ) -> Any:
        """Uploads the model as it is now to args.hub_model_id; of several processes the first one does."""
        folder = os.path.join(self.args.output_dir, "hub")
        self.save_model(folder)
        if not self._processes.is_first:
            return None
        return push(folder, self.args, kwargs.get("token"), commit_message, blocking)

    def log(self, logs: Mapping[str, float | None], start_time: float | None = None) -> None:
        """Appends a line to state.log_history and gives it to the callbacks."""
        line = dict(logs)
        if self.state.epoch is not None:
            line["epoch"] = self.state.epoch
        self.state.log_history.append({**line, "step": self.state.global_step})
        self._callbacks.call("on_log", logs=line)

    def add_callback(self, callback: TrainerCallback | type[TrainerCallback]) -> None:
        """Adds a callback, which is called after the others."""
        self._callbacks.add(callback)

    def pop_callback(self, callback: TrainerCallback | type[TrainerCallback]) -> TrainerCallback | None:
        """Removes a callback and returns it."""
        return self._callbacks.pop(callback)

    def remove_callback(self, callback: TrainerCallback | type[TrainerCallback]) -> None:
        """Removes a callback."""
        self._callbacks.pop(callback)

    @property
    def model(self) -> Any:
        """The transformers model; during and after train() its parameters are the engine's weights."""
        is_new = not self._source.is_loaded
        model = self._source.object()
        if is_new and self._run is not None:
            self._share(self._run)
        return model

    @property
    def processing_class(self) -> Any:
        """The tokenizer."""
        return self._source.processing_class

    @property
    def accelerator(self) -> Any:
        """accelerate's on the CPU, for scripts and callbacks that print or gather by it. All processes must ask for it: it
        starts torch.distributed. It doesn't see the processes of srun."""
        from accelerate import Accelerator

        return Accelerator(cpu=True)

    @property
    def model_wrapped(self) -> Any:
        """The model: nothing wraps it."""
        return self.model

    def is_world_process_zero(self) -> bool:
        """Whether this is the process that writes files."""
        return self._processes.is_first

    def is_local_process_zero(self) -> bool:
        """Whether this is the first process of its machine."""
        return self._processes.local_rank == 0

    # The run.

    def _started_run(self) -> Any:
        return self._run if self._run is not None else self._open(resume=False)

    def _open(self, resume: bool) -> Any:
        """The run in output_dir, begun or continued."""
        if self._run is not None and self._run.step == 0:
            return self._run  # an evaluation has begun it
        with self._processes.together():
            return self._open_together(resume)

    def _open_together(self, resume: bool) -> Any:
        self._run = None
        run = self._open_run(self._inputs(resume), resume)
        self._update_state(run, self.state.epoch or 0.0)
        if resume:
            self._callbacks.load(newest_checkpoint(self.args.output_dir))
        if self._source.is_loaded:
            self._share(run)
        run.begin()
        self._run = run
        return run

    def _inputs(self, resume: bool) -> str:
        """Writes what the engine reads; returns the path of the recipe."""
        if self._processes.size > 1:
            self._processes.check_same(self._facts())
        path = recipe_path(self.args.output_dir)
        if self._processes.is_first:
            write_inputs(
                self.args.output_dir,
                self._source,
                self._train_rows,
                self._eval_rows,
                self._recipe,
                resume,
                self._has_dropout,
            )
        self._processes.barrier("the inputs of the run")
        if not os.path.isfile(path):
            raise ValueError(
                f"{path}: rank {self._processes.rank} doesn't find this file, which rank 0 has written: output_dir must be "
                "on a file system that all processes share"
            )
        return path

    def _share(self, run: Any) -> None:
        self._source.share(run.weights, run.adapter_weights)

    def _take_steps(self, run: Any) -> None:
        if self.args.eval_on_start and self._eval_rows and run.step == 0:
            self.evaluate()
        steps_per_epoch = max(1, -(-len(self._train_rows) // self.args.rows_per_step))
        while run.goes_on and not self._is_stopped():
            if run.step % steps_per_epoch == 0:
                self._callbacks.call("on_epoch_begin")
            self._take_step(run)
            if run.step % steps_per_epoch == 0 or not run.goes_on:
                self._callbacks.call("on_epoch_end")
                self._log_evaluate_save(run, None)

    def _take_step(self, run: Any) -> None:
        self._callbacks.call("on_step_begin")
        report = self._pending = run.take_step()
        self._after_step(run, report)
        metrics = report.metrics
        self._log.add(metrics)
        self._update_state(run, metrics.get("epoch", 0.0))
        self._callbacks.call("on_pre_optimizer_step")
        self._callbacks.call("on_optimizer_step")
        self._callbacks.call("on_step_end")
        self._log_evaluate_save(run, report)

    def _is_stopped(self) -> bool:
        self._agree("should_training_stop")
        return self.control.should_training_stop

    def _agree(self, *wishes: str) -> None:
        """What a callback wishes in one process, all do."""
        if self._processes.size == 1:
            return
        own = [getattr(self.control, wish) for wish in wishes]
        for wish, value in zip(wishes, self._processes.any_true(own, "what callbacks wish"), strict=True):
            setattr(self.control, wish, value)

    def _log_evaluate_save(self, run: Any, report: Any) -> None:
        """What the callbacks asked for after a step, whose report is written, or after an epoch."""
        self._agree("should_log", "should_evaluate", "should_save")
        if self.control.should_log and self._log.has_steps:
            self.control.should_log = False
            self.log(self._log.take())
            if report is not None:
                self._after_log(report)
        evaluated = None
        if self.control.should_evaluate and self._eval_rows:
            target = report if report is not None else _native.StepReport()
            before = set(target.metrics)
            run.evaluate(target)
            self._after_evaluation(target)
            evaluated = {name: value for name, value in target.metrics.items() if name not in before}
        self._forget_step()
        if report is not None:
            self._end_step(run)
        if evaluated is not None:
            self._log_evaluation(evaluated)
            self._agree("should_save")
        if self.control.should_save:
            self._save(run)
            self._callbacks.call("on_save")

    def _end_step(self, run: Any) -> None:
        """Writes what the last step left, if it is not written yet."""
        report, self._pending = self._pending, None
        if report is not None:
            run.end_step(report)

    def _log_evaluation(self, metrics: dict[str, float]) -> dict[str, float]:
        self.log(metrics)
        self._callbacks.call("on_evaluate", metrics=metrics)
        note_evaluation(self.args, self.state, self.control, metrics)
        return metrics

    def _save(self, run: Any) -> None:
        if run.save():
            self._save_state_beside_checkpoint(run)

    def _save_state_beside_checkpoint(self, run: Any) -> None:
        checkpoint = newest_checkpoint(self.args.output_dir) if self._processes.is_first else None
        if checkpoint is not None:
            self._callbacks.save(checkpoint)

    def _state_values(self) -> dict[str, Any]:
        return {
            "train_batch_size": self.args.per_device_train_batch_size,
            "num_train_epochs": self.args.num_train_epochs,
            "max_steps": self.args.max_steps,
        }

    def _update_state(self, run: Any, epoch: float) -> None:
        self.state.global_step = run.step * self.args.updates_per_step
        self.state.max_steps = run.max_steps * self.args.updates_per_step
        self.state.epoch = epoch
        self._callbacks.settle_intervals()
