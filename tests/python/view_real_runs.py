"""Two short runs by the program, for tests of the page: COHORT names the program."""

import os
import subprocess
from pathlib import Path

from view_page_case import ROOT

COHORT = Path(os.environ.get("COHORT", ROOT / "build/cohort"))
DEMO = ROOT / "recipes/demo"
RECIPE = """
[[reward]]
name = "accuracy"
type = "countdown"

[[reward]]
name = "format"
type = "format"
weight = 0.5
"""


ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def cohort(*arguments):
    subprocess.run([COHORT, *map(str, arguments)], check=True, capture_output=True, env=ENVIRONMENT)


def make_real_runs(folder):
    """Two seeds of a short run of the demo's model, which has learnt a little from solutions."""
    demonstrations, rows, start, warm = (
        folder / name for name in ("demo.jsonl", "train.jsonl", "start", "warm")
    )
    cohort("data", "countdown", "--count", 400, "--solution_success", 0.8, "--output", demonstrations)
    cohort("data", "countdown", "--count", 12, "--seed", 100, "--output", rows)
    cohort("init", "--config", DEMO / "config.json", "--tokenizer", DEMO, "--seed", 3, "--output", start)
    sizes = ("--train.max_steps", 60, "--threads", 1)
    cohort(
        "sft",
        DEMO / "sft.toml",
        "--model.path",
        start,
        "--data.path",
        demonstrations,
        "--run-dir",
        warm,
        *sizes,
    )
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE)
    for seed in (1, 2):
        cohort("train", DEMO / "grpo.toml", recipe, "--seed", seed, "--model.path", warm / "final", "--data.path", rows,
               "--rollout.prompts_per_step", 4, "--rollout.num_generations", 4, "--train.max_steps", 8,
               "--train.save_steps", 8 if seed == 2 else 1, "--train.save_total_limit", 9,
               "--run.save_batches", "true", "--threads", 1, "--run-dir", folder / f"seed-{seed}")  # fmt: skip
    return [folder / f"seed-{seed}" for seed in (1, 2)]
