"""The command `cohort track`."""

import argparse
import contextlib
import importlib
import sys

from cohort.track.journal import Journal
from cohort.track.run_files import RunFiles
from cohort.track.session import Options, Session
from cohort.track.tracker import TrackerError

TRACKERS = {
    "comet": "CometTracker",
    "mlflow": "MlflowTracker",
    "trackio": "TrackioTracker",
    "wandb": "WandbTracker",
}


def _count(least):
    def count(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}")
        return int(text)

    return count


def add_arguments(parser):
    parser.add_argument(
        "run_directory", metavar="RUN", help="the directory of a run, finished or still being written"
    )
    parser.add_argument("--to", required=True, choices=sorted(TRACKERS), help="the tracker")
    parser.add_argument("--project", help="project, or experiment of MLflow; cohort without it")
    parser.add_argument("--name", help="name of the run; that of its directory without it")
    parser.add_argument("--group", help="group of runs, such as the seeds of one recipe")
    parser.add_argument(
        "--tag", action="append", default=[], help="a tag beside cohort; give it once for each"
    )
    parser.add_argument(
        "--completions",
        type=_count(0),
        default=8,
        metavar="N",
        help="first N of a step in a table; 0: none; default 8",
    )
    parser.add_argument(
        "--completions-every",
        type=_count(1),
        default=10,
        metavar="K",
        help="a table every K steps; default 10",
    )
    parser.add_argument(
        "--follow",
        action=argparse.BooleanOptionalAction,
        help="wait until the run is finished, or send only what is there; without either, wait as long as a process writes to it",
    )
    parser.add_argument(
        "--interval",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="between two looks at the files; default 2",
    )


def run(options):
    """Sends the run and returns the exit code. Raises ImportError, OSError and ValueError for wrong input."""
    root = options.run_directory
    files = RunFiles(root)
    if not options.follow and not files.exists():
        raise ValueError(f"{root}: holds no run; with --follow the command waits for it")
    if not 0 < options.interval <= 3600:
        raise ValueError("--interval: must be above 0 and at most 3600 seconds")
    tracker = _tracker(options.to)
    session_options = Options(
        options.project,
        options.name,
        options.group,
        options.tag,
        options.completions,
        options.completions_every,
        options.follow,
        options.interval,
    )
    with contextlib.closing(Journal(root, options.to)) as journal:
        session = Session(files, tracker, options.to, journal, session_options, _say)
        session.stop_at_signals()
        try:
            status = session.run()
        except TrackerError as error:
            _say(str(error))
            return 2
    if session.signal is not None:
        return 128 + session.signal
    if status is None:
        raise ValueError(f"{root}: has no step yet; with --follow the command waits for one")
    _say(
        f"sent {session.num_steps} steps and {session.num_completions} completions of {root} to {options.to}, project "
        f"{journal.head['project']}, name {journal.head['name']}; the run is {status}{_HINTS.get(status, '')}"
    )
    return 0


_HINTS = {
    "running": ": run the command again for the rest",
    "stopped": ": run the command again when it goes on; with --follow it waits for that",
}


def _tracker(to):
    module = importlib.import_module(f"cohort.track.{to}_tracker")
    return getattr(module, TRACKERS[to])()


def _say(text):
    print(f"cohort: {text}", file=sys.stderr, flush=True)
