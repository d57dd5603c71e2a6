"""What the benchmarks of rewards share: the model that `make demo` warm-started, its problems and its recipe."""

import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("COHORT", ROOT / "build/cohort")).resolve()
RECIPES = ROOT / "recipes/demo"
DEMO = ROOT / "runs/demo-1"
WARM, TRAIN, TEST = DEMO / "warm/final", DEMO / "train.jsonl", DEMO / "test.jsonl"


def cohort(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=True)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def empty_folder(path):
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)


def grpo(run, *options, start=WARM, data=TRAIN):
    """Trains a model by the demo's recipe with these options, anew, into a run directory."""
    if not start.exists():
        raise SystemExit(f"{start} is missing: make demo")
    shutil.rmtree(run, ignore_errors=True)
    paths = ("--model.path", start, "--data.path", data, "--run-dir", run)
    cohort("train", RECIPES / "grpo.toml", "--seed", 1, *paths, *options)


def accuracy(model, *options, output, data=TEST, verifier="countdown"):
    """Percent of four completions of each held-out problem that are right, by the verifier."""
    asked = ("--input", data, "--reward", verifier, "--num-generations", 4, "--max-completion-length", 64)
    cohort("eval", "--model", model, *asked, *options, "--output", output)
    return 100 * json.loads(output.read_text())["mean"]


def seconds(run):
    """Over all steps of a run: seconds of generation, of rewards at work beside it and after it, and of whole steps."""
    timings = read(run / "timings.jsonl")
    names = {"generation s": "gen", "rewards beside s": "reward_beside_gen"}
    names |= {"rewards after s": "reward_after_gen", "GRPO s": "step"}
    return {title: sum(row[f"timing_s/{name}"] for row in timings) for title, name in names.items()}


def print_table(rows):
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print("".join(f"{key:>20}" for key in columns))
    for row in rows:
        values = [row.get(key, "") for key in columns]
        print("".join(f"{value:20.4g}" if isinstance(value, float) else f"{value:>20}" for value in values))
