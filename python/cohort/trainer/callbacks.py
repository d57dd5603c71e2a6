"""Transformers' callbacks around the engine's steps."""

import json
import os
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState
from transformers.trainer_callback import (
    CallbackHandler,
    DefaultFlowCallback,
    PrinterCallback,
    ProgressCallback,
)

from cohort.trainer.processes import processes

#: Variables that let an integration upload output_dir/checkpoint-N, which is not where checkpoints are.
_UPLOADS = (
    ("wandb", "WANDB_LOG_MODEL", ("checkpoint",)),
    ("mlflow", "HF_MLFLOW_LOG_ARTIFACTS", ("1", "on", "yes", "true")),
)


class Callbacks:
    """The state and control of a trainer, and the callbacks that see and change them."""

    def __init__(self, args: Any, source: Any, callbacks: list[Any], values: dict[str, Any]):
        _check_uploads(args.report_to)
        if "mlflow" in args.report_to:
            # Threads of MLflow that make the folder of two metrics at the same time lose one of them.
            os.environ.setdefault("MLFLOW_ASYNC_LOGGING_THREADPOOL_SIZE", "1")
        self._args = args
        self._source = source
        self.control = TrainerControl()
        self.state = TrainerState(
            is_local_process_zero=processes().local_rank == 0,
            is_world_process_zero=processes().is_first,
            **values,
        )
        self._intervals = None
        every = [DefaultFlowCallback, *_integrations(args.report_to), *callbacks]
        self._handler = CallbackHandler(every, None, None, None, None)
        self.add(PrinterCallback if args.disable_tqdm else ProgressCallback)

    def call(self, event: str, **values: Any) -> None:
        """Calls `event` of every callback."""
        handler = self._handler
        handler.model = self._source.object() if self._wants_model() else None
        handler.processing_class = self._source.processing_class if handler.model is not None else None
        method = getattr(handler, event)
        if event == "on_evaluate":
            method(self._args, self.state, self.control, values["metrics"])
        elif event == "on_log":
            method(self._args, self.state, self.control, values["logs"])
        else:
            method(self._args, self.state, self.control)

    def _wants_model(self) -> bool:
        """Whether some callback is the user's, or reads the model: loading it would cost memory for nothing."""
        own = ("transformers.trainer_callback",)
        return self._source.is_loaded or any(
            type(one).__module__ not in own for one in self._handler.callbacks
        )

    def settle_intervals(self) -> None:
        """Steps between two lines of the log, evaluations and checkpoints; shares of all steps become counts."""
        self.state.compute_steps(self._args, self.state.max_steps)

    def add(self, callback: Any) -> None:
        """Adds a callback."""
        self._handler.add_callback(callback)

    def pop(self, callback: Any) -> Any:
        """Removes a callback and returns it."""
        return self._handler.pop_callback(callback)

    def save(self, checkpoint: str) -> None:
        """Writes the state beside a checkpoint."""
        self.state.save_to_json(os.path.join(checkpoint, "trainer_state.json"))

    def load(self, checkpoint: str | None) -> None:
        """Takes the log of a checkpoint, if it has one."""
        path = os.path.join(checkpoint, "trainer_state.json") if checkpoint is not None else None
        if path is None or not os.path.isfile(path):
            return
        with open(path, encoding="utf-8") as file:
            saved = json.load(file)
        self.state.log_history = saved.get("log_history", [])
        for name in ("epoch", "best_metric", "best_global_step", "best_model_checkpoint"):
            setattr(self.state, name, saved.get(name))


def _check_uploads(report_to: list[str]) -> None:
    for tool, name, values in _UPLOADS:
        if tool in report_to and os.environ.get(name, "").lower() in values:
            raise ValueError(
                f"{name}={os.environ[name]} is not supported: {tool} would look for checkpoints in other places; unset it and "
                "upload output_dir/checkpoints yourself"
            )


def _integrations(report_to: list[str]) -> list[Any]:
    """The callbacks of transformers that `report_to` names; importing them takes 97 MiB."""
    if not report_to:
        return []
    from transformers.integrations import get_reporting_integration_callbacks

    return get_reporting_integration_callbacks(report_to)


__all__ = ["Callbacks", "TrainerCallback"]
