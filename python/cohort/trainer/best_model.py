"""Which evaluation was the best one, as transformers decides it."""

import math
import os
from typing import Any


def metric_name(args: Any) -> str | None:
    """The metric that decides, by its name in evaluations; None if no setting names one."""
    name = args.metric_for_best_model
    return name if name is None or name.startswith("eval_") else f"eval_{name}"


def note_evaluation(args: Any, state: Any, metrics: dict[str, float]) -> bool:
    """Whether an evaluation is better than all before it; then the state says so. The engine has written its model to
    output_dir/best. KeyError if the evaluation lacks the metric."""
    name = metric_name(args)
    if name is None:
        return False
    if name not in metrics:
        raise KeyError(f"metric_for_best_model is {name!r}, but evaluations have {', '.join(metrics)}")
    sign = 1.0 if args.greater_is_better else -1.0
    value, best = metrics[name], state.best_metric
    if math.isnan(value) or (best is not None and sign * value <= sign * best):
        return False
    state.best_metric = value
    state.best_global_step = state.global_step
    state.best_model_checkpoint = os.path.join(args.output_dir, "best")
    return True
