"""AXPO against GRPO on products that a tiny model computes with a calculator whose calls it mostly writes wrong.

    COHORT=build/cohort python3 bench/tool_rerolls.py [--seeds 3] [--steps 40] [--right-share 0.1]

The warm model calls the calculator for three products in ten, and of these calls only the share `right-share` multiplies; the others add.
It answers the other products at once, with a guess. The reward is 1 for the right product. grpo draws 8 completions of a prompt and, with
the completions that AXPO's re-rolls may add at most, 10; axpo draws 8. Prints a table: the mean over the seeds and its standard error.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "recipes/calculator"))

import data  # noqa: E402

PROGRAM = os.environ.get("COHORT", str(ROOT / "build/cohort"))
RECIPES = ROOT / "recipes/calculator"
METHODS = {
    "grpo, 8": ["--objective.preset=grpo"],
    "grpo, 10": ["--objective.preset=grpo", "--rollout.num-generations=10"],
    "axpo, 8": ["--objective.preset=axpo"],
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--right-share", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=1e-4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        warm_start(folder, options.right_share)
        firsts = [0, options.steps // 2 - 5, options.steps - 5]
        print(
            "| method |",
            " | ".join(f"{what}, steps {f + 1} to {f + 5}" for what in ("calls", "reward") for f in firsts),
            "| held out | completions |",
        )
        for name, flags in METHODS.items():
            runs = [train(folder, name, flags, seed, options) for seed in range(1, options.seeds + 1)]
            cells = [
                cell([statistics.mean(line[key] for line in run[f : f + 5]) for run in runs])
                for key in ("tools/call_frequency", "reward")
                for f in firsts
            ]
            held_out = [[line["eval_reward"] for line in run if "eval_reward" in line][-1] for run in runs]
            drawn = [
                sum(1 for _ in open(folder / f"{name}-{s}/completions.jsonl"))
                for s in range(1, options.seeds + 1)
            ]
            print(
                f"| {name} |",
                " | ".join([*cells, cell(held_out)]),
                f"| {statistics.mean(drawn):.0f} |",
                flush=True,
            )


def cell(values):
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.3f} ± {error:.3f}"


def warm_start(folder, right_share):
    """The recipe's warm start on calls of which most add."""
    call([sys.executable, RECIPES / "data.py", folder])
    draw = random.Random(7)
    rows = [json.loads(line) for line in (folder / "warm.jsonl").read_text().splitlines()]
    for row in rows:
        one, _, other, _ = row["messages"][0]["content"].split()
        if len(row["messages"]) > 2 and draw.random() >= right_share:
            row["messages"] = data.conversation(int(one), int(other), with_tool=True)
            total = str(int(one) + int(other))
            row["messages"][1]["tool_calls"][0]["function"]["arguments"]["expression"] = f"{one} + {other}"
            row["messages"][2]["content"] = row["messages"][3]["content"] = total
    (folder / "warm.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    demo = ROOT / "recipes/demo"
    call(
        [PROGRAM, "init", "--config", demo / "config.json", "--tokenizer", demo, "--output", folder / "start"]
    )
    places = [f"--model.path={folder}/start", f"--data.path={folder}/warm.jsonl", f"--run-dir={folder}/warm"]
    call([PROGRAM, "sft", RECIPES / "sft.toml", *places])


def train(folder, name, flags, seed, options):
    run = folder / f"{name}-{seed}"
    places = [
        f"--model.path={folder}/warm/final",
        f"--data.path={folder}/train.jsonl",
        f"--data.eval-path={folder}/test.jsonl",
    ]
    sizes = [
        f"--train.max-steps={options.steps}",
        f"--train.eval-steps={options.steps}",
        "--train.eval-on-start=false",
    ]
    rate = f"--optimizer.learning-rate={options.rate}"
    call(
        [
            PROGRAM,
            "train",
            RECIPES / "grpo.toml",
            *places,
            *sizes,
            rate,
            f"--seed={seed}",
            f"--run-dir={run}",
            *flags,
        ]
    )
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def call(command):
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)


if __name__ == "__main__":
    main()
