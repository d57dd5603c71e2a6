"""A run directory as `cohort train` writes it, step by step, and `cohort track` on it."""

import contextlib
import fcntl
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = """seed = 3
[model]
path = "start"
[train]
max_steps = 10
[[reward]]
name = "accuracy"
note = ""
[[reward]]
name = "format"
weights = [0.5, 1]
"""
SETTINGS = {
    "seed": 3,
    "model": {"path": "start"},
    "train": {"max_steps": 10},
    "reward": [{"name": "accuracy", "note": ""}, {"name": "format", "weights": [0.5, 1]}],
}
FLAT = {
    "seed": "3",
    "model.path": "start",
    "train.max_steps": "10",
    "reward.0.name": "accuracy",
    "reward.0.note": "",
    "reward.1.name": "format",
    "reward.1.weights": "[0.5, 1]",
}
PROMPT = '1 + 1 =\n"quoted", <b>bold</b> é\u202e'


def metrics_of(step, branch=0):
    values = {"reward": step / 7 + branch, "eval_rewards/accuracy/pass@8": step / 3, "loss": None}
    return values | {"entropy": 1e-300 / step}


def timings_of(step, branch=0):
    return {
        "step_time": 1.7 * step + branch,
        "timing_s/reward": 0.1,
        "timing_s/reward/accuracy/p50": step / 9,
    }


def figures_of(step, branch=0):
    """What a tracker has of a step: null is no value."""
    values = metrics_of(step, branch) | timings_of(step, branch)
    return {name: value for name, value in values.items() if value is not None}


def completion(step, sample, text="The answer is 2.", branch=0):
    return {
        "step": step,
        "prompt_id": f"train.jsonl:{step}",
        "sample": sample,
        "prompt": PROMPT,
        "completion": text,
        "finish_reason": "stop",
        "reward": 0.5 * sample + branch,
        "rewards": {
            "accuracy": {"score": 0.5 * sample, "status": "ok"},
            "format": {"score": None, "status": "timeout", "detail": "late"},
        },
        "advantage": None if sample == 0 else -0.25,
        "policy_version": 0,
        "logprobs": [-0.5] * (sample + 1),
    }


COLUMNS = [
    "step",
    "prompt_id",
    "sample",
    "prompt",
    "completion",
    "finish_reason",
    "reward",
    "rewards/accuracy",
]
COLUMNS += ["rewards/accuracy/status", "rewards/format", "rewards/format/status", "advantage", "tokens"]


def table_row(step, sample, text="The answer is 2.", branch=0):
    row = [
        step,
        f"train.jsonl:{step}",
        sample,
        PROMPT,
        text,
        "stop",
        0.5 * sample + branch,
        0.5 * sample,
        "ok",
    ]
    return [*row, None, "timeout", None if sample == 0 else -0.25, sample + 1]


class TestRun:
    """Writes the files of a run."""

    def __init__(self, root):
        self.root = root
        root.mkdir()
        (root / "config.toml").write_text(CONFIG)
        (root / ".lock").touch()

    def append(self, name, *rows):
        with open(self.root / name, "a", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, separators=(",", ":")) + "\n")

    def add_steps(self, first, last, branch=0, samples=3):
        for step in range(first, last + 1):
            self.append("completions.jsonl", *(completion(step, i, branch=branch) for i in range(samples)))
            self.append("metrics.jsonl", {"step": step} | metrics_of(step, branch))
            self.append("timings.jsonl", {"step": step} | timings_of(step, branch))

    def cut_after(self, step):
        """As a rollback and --resume do."""
        for name in ("metrics", "timings", "completions"):
            with open(self.root / f"{name}.jsonl", "rb+") as file:
                keep = sum(len(line) for line in file if json.loads(line)["step"] <= step)
                file.truncate(keep)

    @contextlib.contextmanager
    def lock(self):
        """While a process writes to the run."""
        with open(self.root / ".lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield

    def files(self):
        return {
            path.name: path.read_bytes()
            for path in self.root.iterdir()
            if path.is_file() and not path.name.startswith(".track-")
        }


def environment(folder):
    """Trackers that reach nothing and write to `folder`."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("WANDB_", "COMET_", "MLFLOW_", "TRACKIO_"))
    }
    return clean | {
        "PYTHONPATH": str(ROOT / "python"),
        "HOME": str(folder),
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(folder),
        "TRACKIO_DIR": str(folder / "trackio"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "COMET_START_ONLINE": "0",
        "COMET_OFFLINE_DIRECTORY": str(folder / "comet"),
    }


def start(folder, *arguments, python=(sys.executable,), **variables):
    """`cohort track` as a process of its own, in `folder`."""
    return subprocess.Popen(
        [*python, "-m", "cohort", "track", *map(str, arguments)],
        cwd=folder,
        env=environment(folder) | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def track(folder, *arguments, code=0, **options):
    """Its own lines on standard error."""
    process = start(folder, *arguments, **options)
    out, errors = process.communicate(timeout=120)
    if process.returncode != code:
        raise AssertionError(f"exit code {process.returncode}, not {code}:\n{out}\n{errors}")
    return [line for line in errors.splitlines() if line.startswith("cohort: ")]
