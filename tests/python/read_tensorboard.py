"""Reads a run's TensorBoard events with TensorBoard and compares them with metrics.jsonl and timings.jsonl.

Usage: read_tensorboard.py RUN_DIRECTORY. Exits with 1 and says which scalar differs or is missing.
"""

import json
import sys
from pathlib import Path

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def logged_scalars(run: Path) -> dict[tuple[str, int], np.float32]:
    """(name, step) -> value, for every value of the two files that is a number."""
    scalars = {}
    for name in ("metrics.jsonl", "timings.jsonl"):
        for line in (run / name).read_text().splitlines():
            row = json.loads(line)
            for key, value in row.items():
                if key != "step" and value is not None:
                    scalars[key, row["step"]] = np.float32(value)
    return scalars


def event_scalars(run: Path) -> dict[tuple[str, int], np.float32]:
    """(name, step) -> value, for every finite scalar that TensorBoard finds."""
    events = EventAccumulator(str(run), size_guidance={"scalars": 0})
    events.Reload()
    return {
        (tag, event.step): np.float32(event.value)
        for tag in events.Tags()["scalars"]
        for event in events.Scalars(tag)
        if np.isfinite(event.value)
    }


def main() -> int:
    run = Path(sys.argv[1])
    logged, events = logged_scalars(run), event_scalars(run)
    for key in sorted(logged.keys() | events.keys()):
        if logged.get(key) != events.get(key):
            print(f"{key[0]} at step {key[1]}: logged {logged.get(key)}, in TensorBoard {events.get(key)}")
            return 1
    print(f"{len(events)} scalars agree")
    return 0 if events else 1


if __name__ == "__main__":
    sys.exit(main())
