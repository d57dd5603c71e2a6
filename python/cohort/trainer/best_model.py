"""Which evaluation was the best one, as transformers decides it."""

import math
import os
from typing import Any


def metric_name(args: Any) -> str | None:
    """The metric that decides, by its name in evaluations; None if no setting names one."""
    name = args.metric_for_best_model
    return name if name is None or name.startswith("eval_") else f"eval_{name}"


def note_evaluation(args: Any, state: Any, control: Any, metrics: dict[str, float]) -> None:
    """Puts an evaluation that is better than all before it into the state; with save_strategy "best" it decides whether
    to save. The engine has written its model to output_dir/best. KeyError if the evaluation lacks the metric."""
    is_best = _is_best(args, state, metrics)
    if is_best:
        state.best_metric = metrics[metric_name(args)]
        state.best_global_step = state.global_step
        state.best_model_checkpoint = os.path.join(args.output_dir, "best")
    if args.save_strategy == "best":
        control.should_save = is_best


def _is_best(args: Any, state: Any, metrics: dict[str, float]) -> bool:
    name = metric_name(args)
    if name is None:
        return False
    if name not in metrics:
        raise KeyError(f"metric_for_best_model is {name!r}, but evaluations have {', '.join(metrics)}")
    sign = 1.0 if args.greater_is_better else -1.0
    value, best = metrics[name], state.best_metric
    return not math.isnan(value) and (best is None or sign * value > sign * best)


def load_best_model(args: Any, state: Any, run: Any) -> None:
    """Gives a run that is over the weights of its best evaluation, where the settings ask for it."""
    if args.load_best_model_at_end and state.best_model_checkpoint is not None:
        run.load_model(state.best_model_checkpoint)
