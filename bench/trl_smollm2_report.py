"""The table of bench/trl_smollm2.py."""

import itertools
import statistics


def print_report(rows, steps):
    """What was tried for TRL, then figures of whole runs of `steps` steps."""
    for row in rows:
        if row["kind"] == "try":
            seconds = tried_seconds(row)
            text = f"{seconds:.1f} s" if seconds is not None else row["error"]
            print("TRL, a step:", text, "with", _words(row["arguments"]))
    runs = [row for row in rows if row["kind"] == "run" and row["steps"] == steps]
    before = next((row["accuracy"] for row in rows if row["kind"] == "before"), None)
    sides = {name: [row for row in runs if row["package"] == name] for name in ("trl", "cohort")}
    if not all(sides.values()):
        return
    print(f"\nboth: {_words(runs[0]['arguments'])}; accuracy before: {before:.1%}\n")
    print(
        f"{'':8}{'s a step':>10}{'cpu s a run':>13}{'peak MiB':>10}{'accuracy after':>16} {steps} steps, seed by seed"
    )
    for name, found in sides.items():
        seconds = statistics.median(itertools.chain.from_iterable(row["step_s"][1:] for row in found))
        processor, peak = (statistics.median(row[key] for row in found) for key in ("cpu_s", "peak_mib"))
        last = [row["accuracy"][str(steps)] for row in found]
        print(
            f"{name:8}{seconds:10.2f}{processor:13.0f}{peak:10.0f}{statistics.mean(last):16.1%} "
            f"({', '.join(f'{one:.1%}' for one in last)})"
        )
    _print_equal_seconds(sides, before)


def tried_seconds(row):
    """Seconds of a tried setting: the median of the steps after the first, which compiles. None if the run failed."""
    return statistics.median(row["step_s"][1:]) if row["step_s"] else None


def _print_equal_seconds(sides, before):
    """Mean accuracies of the newest models, first at the times at which all of Cohort's runs have one more."""
    points = {name: [_points(row, before) for row in found] for name, found in sides.items()}
    times = [
        max(run[place][0] for run in points["cohort"]) for place in range(min(map(len, points["cohort"])))
    ]
    end = min(run[-1][0] for run in points["trl"])
    longer = [end * part / 4 for part in (1, 2, 3, 4) if end * part / 4 > times[-1]]
    print(
        f"\n{'seconds of training':>20}{'trl':>20}{'cohort':>20}    accuracy (steps) of the newest model, means over seeds"
    )
    for seconds in [*times, *longer]:
        cells = []
        for name in ("trl", "cohort"):
            newest = [max(point for point in run if point[0] <= seconds) for run in points[name]]
            mean = statistics.mean(point[2] for point in newest)
            cells.append(f"{mean:.1%} ({statistics.mean(point[1] for point in newest):.0f})")
        print(f"{seconds:20.0f}{cells[0]:>20}{cells[1]:>20}")


def _points(row, before):
    """(seconds of training, steps, accuracy) of a run's models, the one before training first."""
    ends = list(itertools.accumulate(row["step_s"]))
    saved = sorted((int(step), value) for step, value in row["accuracy"].items())
    return [(0.0, 0, before), *((ends[step - 1], step, value) for step, value in saved)]


def _words(arguments):
    return ", ".join(f"{key}={value}" for key, value in arguments.items())
