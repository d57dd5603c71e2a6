"""GRPO of SmolLM2-135M on reasoning-gym's sums with TRL and with Cohort: one script, of which only the import differs.

  PYTHONPATH=build/python .venv-test/bin/python bench/trl_smollm2.py            # everything; goes on where it ended
  PYTHONPATH=build/python .venv-test/bin/python bench/trl_smollm2.py --report   # the table of what there is

First TRL takes three steps at each setting that may help it on a CPU, one after another. The median of the steps after the
first counts, since torch_compile compiles in the first. A setting is given up ten minutes after twice the time of the
fastest so far. The fastest settings are kept, and both sides get them. Then whole runs alternate, one of each side for each
seed. Every run is a process of its own with two threads. It saves the model every few steps, outside the time of a step, and
`cohort eval` judges the saved models greedily on held-out problems, in float32. Each result is a line of WORK_DIR/runs.jsonl.
An interrupted run begins again.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

from trl_smollm2_report import print_report, tried_seconds

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIDE = ROOT / "bench/trl_smollm2_side.py"
SUMS = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2}
FIRST = {"per_device_train_batch_size": 16, "bf16": False, "gradient_checkpointing": False}
TRY_STEPS = 3
COMPILE_S = 600  # what compiling may take
#: What may make TRL faster, each tried on top of what was fastest before.
TRIES = [
    {},
    {"bf16": True},
    {"per_device_train_batch_size": 8},
    {"per_device_train_batch_size": 32},
    {"per_device_train_batch_size": 64},
    {"cache_implementation": "static"},
    {"use_transformers_continuous_batching": True},
    {"gradient_checkpointing": True},
    {"torch_compile": True},
]


class Results:
    """Lines of a file, appended as they come."""

    def __init__(self, path):
        self.path = path
        self.rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def find(self, **keys):
        return next((row for row in self.rows if all(row.get(key) == keys[key] for key in keys)), None)

    def add(self, row):
        self.rows.append(json.loads(json.dumps(row)))  # as they are read
        with open(self.path, "a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps({key: row[key] for key in row if key not in ("reward", "length")}), flush=True)


def environment():
    """Two threads, and the package and its reward's packages for `cohort eval`."""
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "OMP_NUM_THREADS": "2", "HF_HUB_OFFLINE": "1", "PATH": path}


def prepare(work_dir):
    """Model, training rows and held-out rows."""
    from cohort import datasets, hub

    work_dir.mkdir(parents=True, exist_ok=True)
    hub.smollm2(work_dir / "model")
    held_out, _ = datasets.reasoning_gym("chain_sum", 256, 2, conversational=True, **SUMS)
    rows, _ = datasets.reasoning_gym("chain_sum", 6000, 1, conversational=True, exclude=held_out, **SUMS)
    for name, part in (("test", held_out), ("train", rows)):
        (work_dir / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))


def run(package, work_dir, settings, limit_s=3 * 3600):
    """A run in its own process: what it printed, its peak memory, its processor time and the load before it. RuntimeError
    if it fails, or takes longer than `limit_s` and is killed."""
    folder = work_dir / package
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    load, began = os.getloadavg()[0], time.monotonic()
    command = [sys.executable, SIDE, package, folder, json.dumps(settings)]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=log, text=True, env=environment()
        )
        timer = threading.Timer(limit_s, process.kill)
        timer.start()
        output = process.stdout.read()
        timer.cancel()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == -signal.SIGKILL and time.monotonic() - began >= limit_s:
        raise RuntimeError(f"{package} was given up after {limit_s:.0f} s")
    if process.returncode != 0:
        raise RuntimeError(f"{package} failed with {process.returncode}: see {folder / 'log'}")
    return {
        **json.loads(output.splitlines()[-1]),
        "peak_mib": usage.ru_maxrss / 1024,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "load": load,
    }


def accuracy(model, work_dir):
    """Share of the held-out problems that the greedy answer solves."""
    output = work_dir / "eval.json"
    command = [ROOT / "build/cohort", "eval", "--model", model, "--input", work_dir / "test.jsonl"]
    command += ["--reward-config", ROOT / "recipes/smollm2/grpo.toml", "--max_completion_length", 24]
    command += ["--temperature", 0, "--log_completions=false", "--output", output]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env=environment(), cwd=ROOT)
    return json.loads(output.read_text())["mean"]


def best_settings(results, work_dir):
    """TRL's fastest settings by the median of the steps after the first."""
    best, seconds, limit_s = FIRST, None, 1800
    for change in TRIES:
        arguments = {**best, **change}
        row = results.find(kind="try", arguments=arguments)
        if row is None:
            settings = {"arguments": arguments, "steps": TRY_STEPS, "save_steps": 0, "seed": 1}
            try:
                measured = run("trl", work_dir, settings, limit_s)
            except RuntimeError as error:
                measured = {"step_s": [], "error": str(error)}
            row = {"kind": "try", "arguments": arguments, **measured}
            results.add(row)
        found = tried_seconds(row)
        if found is not None and (seconds is None or found < 0.98 * seconds):
            best, seconds, limit_s = arguments, found, 2 * sum(row["step_s"]) + COMPILE_S
    return best


def compare(results, work_dir, options):
    """Runs of both sides for each seed, in an order that alternates."""
    if results.find(kind="before") is None:
        results.add({"kind": "before", "accuracy": accuracy(work_dir / "model", work_dir)})
    arguments = best_settings(results, work_dir)
    for seed in range(1, options.seeds + 1):
        for package in ("trl", "cohort") if seed % 2 else ("cohort", "trl"):
            if results.find(kind="run", package=package, seed=seed, steps=options.steps):
                continue
            settings = {
                "arguments": arguments,
                "steps": options.steps,
                "save_steps": options.save_steps,
                "seed": seed,
            }
            measured = run(package, work_dir, settings)
            scores = {
                int(model.name): accuracy(model, work_dir)
                for model in sorted(
                    (work_dir / package / "models").iterdir(), key=lambda path: int(path.name)
                )
            }
            shutil.rmtree(work_dir / package / "models")
            results.add({"kind": "run", "package": package, **settings, **measured, "accuracy": scores})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--save-steps", type=int, default=5, help="steps between two models that are judged")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work-dir", type=pathlib.Path, default=ROOT / "build/trl_smollm2")
    parser.add_argument("--report", action="store_true", help="only print what there is")
    options = parser.parse_args()
    work_dir = options.work_dir.resolve()
    results = Results(work_dir / "runs.jsonl")
    if not options.report:
        prepare(work_dir)
        compare(results, work_dir, options)
    print_report(results.rows, options.steps)


if __name__ == "__main__":
    main()
