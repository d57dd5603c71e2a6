"""The demo's model trained by rewards that are not built in: what each teaches it, and what it costs.

    make build && python3 bench/demo_rewards.py [RUN ...]

Every run starts at the same warm model and has the demo's recipe, but for its reward. Prints accuracy on the 512 held-out
problems by the built-in reward before and after GRPO; the seconds of generation over all steps; those that the reward worked,
its workers added up; and those that a step waited for it after its last completion. Runs stay in runs/rewards.

python_function: countdown judged by a function in Python that takes 1 ms a completion, in two processes.
"""

import argparse
import json
import pathlib
import subprocess
import time

from countdown_function import countdown

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
FOLDER = ROOT / "runs/rewards"
DEMO = ROOT / "recipes/demo"
WARM = FOLDER / "warm/final"


def cohort(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=True)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def measure(name, model):
    """Writes down the share of the held-out problems that a model solves, by the built-in reward."""
    asked = ("--input", FOLDER / "test.jsonl", "--reward", "countdown", "--max-completion-length", 64)
    cohort("eval", "--model", model, *asked, "--output", FOLDER / f"{name}.json")


def percent(name):
    return 100 * json.loads((FOLDER / f"{name}.json").read_text())["mean"]


def make_warm_model():
    """The model that every run starts at, made as the demo makes it."""
    subprocess.run(["rm", "-rf", FOLDER], check=True)
    FOLDER.mkdir(parents=True)
    train, test, start = FOLDER / "train.jsonl", FOLDER / "test.jsonl", FOLDER / "start"
    data = ("data", "countdown", "--seed", 1, "--count")
    cohort(*data, 4000, "--split", "train", "--solution_success", 0.5, "--output", train)
    cohort(*data, 512, "--split", "test", "--output", test)
    cohort("init", "--config", DEMO / "config.json", "--tokenizer", DEMO, "--seed", 1, "--output", start)
    paths = ("--model.path", start, "--data.path", train, "--run-dir", FOLDER / "warm")
    cohort("sft", DEMO / "sft.toml", "--seed", 1, *paths)
    measure("warm", WARM)


def grpo(name, *options):
    """The folder of a run by the demo's recipe with these options."""
    run = FOLDER / name
    subprocess.run(["rm", "-rf", run], check=True)
    paths = ("--model.path", WARM, "--data.path", FOLDER / "train.jsonl", "--run-dir", run)
    cohort("train", DEMO / "grpo.toml", "--seed", 1, *paths, *options)
    return run


def summary(name, run, work_s):
    """A row of the table; `work_s` is how long the reward worked."""
    measure(name, run / "final")
    timings = lines(run / "timings.jsonl")
    return {
        "reward": name,
        "before %": percent("warm"),
        "after %": percent(name),
        "steps": len(timings),
        "generation s": sum(row["timing_s/gen"] for row in timings),
        "reward works s": work_s,
        "reward waits s": sum(row["timing_s/reward"] for row in timings),
        "GRPO s": sum(row["timing_s/step"] for row in timings),
    }


def python_function():
    function = ("--reward.0.function", f"{ROOT / 'bench/countdown_function.py'}:countdown")
    run = grpo("python_function", "--reward.0.type", "python", *function, "--reward.0.workers", 2)
    completions = lines(run / "completions.jsonl")
    columns = {row["prompt"]: row for row in lines(FOLDER / "train.jsonl")}
    judged = completions[:2000]
    rows = [columns[row["prompt"]] for row in judged]
    began = time.perf_counter()
    rewards = countdown(
        [row["completion"] for row in judged],
        [row["numbers"] for row in rows],
        [row["target"] for row in rows],
    )
    work_s = (time.perf_counter() - began) / len(judged) * len(completions)
    assert rewards == [row["reward"] for row in judged], "a reward is not that of its completion"
    return summary("python_function", run, work_s)


RUNS = {"python_function": python_function}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help=", ".join(RUNS))
    names = parser.parse_args().runs or list(RUNS)
    if unknown := set(names) - set(RUNS):
        parser.error(f"there is no run {', '.join(sorted(unknown))}; there are {', '.join(RUNS)}")
    if not (FOLDER / "warm.json").exists():
        make_warm_model()
    rows = [RUNS[name]() for name in names]
    print("".join(f"{key:>18}" for key in rows[0]))
    for row in rows:
        print("".join(f"{v:18.4g}" if isinstance(v, float) else f"{v:>18}" for v in row.values()))


if __name__ == "__main__":
    main()
