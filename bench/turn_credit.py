"""Credit over turns against credit of whole episodes, on a walk that a policy which is a table learns.

    COHORT=build/cohort python3 bench/turn_credit.py [--seeds 5] [--steps 60]

The policy draws `left` or `right` from the token of its place and knows nothing else. An episode begins at the left end; its reward is 1
if it reaches the right end within 16 turns. Prints a table: the share of episodes that get there, and the turns that they take.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/cli"))

import walk  # noqa: E402
from chain_model import make_chain_model  # noqa: E402

PROGRAM = os.environ.get("COHORT", str(ROOT / "build/cohort"))
RECIPE = """
[model]
path = "{folder}/model"
dtype = "float32"
[data]
path = "{folder}/rows.jsonl"
[rollout]
prompts_per_step = 4
num_generations = 8
max_completion_length = 120
[environment]
python = "{root}/tests/cli/walk.py:Sparse"
tool_call_format = "hermes"
max_turns = {turns}
[optimizer]
learning_rate = {rate}
lr_scheduler_type = "constant"
[train]
save_steps = 0
"""
CREDITS = {
    "grpo": ["--objective.preset=grpo"],
    "gigpo": ["--objective.preset=gigpo"],
    "turns": ["--objective.credit=turns", "--objective.baseline=state_group", "--objective.gamma=0.95"],
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--turns", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make_chain_model(folder / "model", walk.CHAINS, walk.TEMPLATE)
        row = {"prompt": [{"role": "user", "content": "walk "}], "start": 0}
        (folder / "rows.jsonl").write_text((json.dumps(row) + "\n") * 64)
        (folder / "recipe.toml").write_text(
            RECIPE.format(folder=folder, root=ROOT, rate=options.rate, turns=options.turns)
        )
        print(
            f"| credit | {' | '.join(f'{what}, steps {first + 1} to {first + 10}' for what in ('there', 'turns') for first in places(options))} |"
        )
        for name, flags in CREDITS.items():
            runs = [train(folder, name, flags, seed, options) for seed in range(1, options.seeds + 1)]
            cells = []
            for key in ("reward", "episodes/mean_turns"):
                for first in places(options):
                    means = [statistics.mean(line[key] for line in run[first : first + 10]) for run in runs]
                    cells.append(
                        f"{statistics.mean(means):.3f} ± {statistics.stdev(means) / len(means) ** 0.5:.3f}"
                    )
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def places(options):
    return [0, options.steps // 2 - 10, options.steps - 10]


def train(folder, name, flags, seed, options):
    run = folder / f"{name}-{seed}"
    command = [PROGRAM, "train", folder / "recipe.toml", f"--seed={seed}", f"--run-dir={run}"]
    subprocess.run([*command, f"--train.max-steps={options.steps}", *flags], check=True, capture_output=True)
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


if __name__ == "__main__":
    main()
