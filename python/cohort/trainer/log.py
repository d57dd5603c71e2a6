"""What the log says of the steps since its last line."""

import math


class StepLog:
    """Collects the metrics of steps; a line of the log has their means."""

    _LAST = ("learning_rate", "grad_norm", "epoch", "num_tokens", "skipped_steps")

    def __init__(self) -> None:
        self._steps: list[dict[str, float]] = []
        self._loss_sum = 0.0
        self._num_steps = 0

    @property
    def has_steps(self) -> bool:
        """Whether a line would say something."""
        return bool(self._steps)

    def add(self, metrics: dict[str, float]) -> None:
        """Adds a step."""
        self._steps.append(metrics)
        loss = metrics.get("loss", math.nan)
        if math.isfinite(loss):
            self._loss_sum += loss
            self._num_steps += 1

    def take(self) -> dict[str, float | None]:
        """The line: means over the steps that have a number, the last value of what is a count or a schedule."""
        line: dict[str, float | None] = {}
        for name in {name: None for step in self._steps for name in step}:
            values = [step[name] for step in self._steps if name in step]
            valid = [value for value in values if not math.isnan(value)]
            if name in self._LAST:
                line[name] = values[-1]
            else:
                line[name] = sum(valid) / len(valid) if valid else None
        self._steps.clear()
        return line

    def mean_loss(self) -> float:
        """Over all steps of this call of train()."""
        return self._loss_sum / self._num_steps if self._num_steps else 0.0
