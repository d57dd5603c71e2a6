"""`cohort train` for two steps with an environment in Python, for the tests of `cohort.environments`."""

import json
import os
import pathlib
import subprocess
import sys

from tiny_run import CONFIG, PROGRAM, ROOT, cohort

RECIPE = """
    [model]
    path = "{folder}/m"
    chat_template = "{root}/recipes/calculator/chat_template.jinja"
    dtype = "float32"
    [data]
    path = "{folder}/rows.jsonl"
    [rollout]
    prompts_per_step = 2
    num_generations = 2
    max_completion_length = 16
    [environment]
    python = "{factory}"
    workers = 1
    timeout_s = 300
    [train]
    max_steps = 2
    save_steps = 0
"""


def train(folder, rows, factory, path=()):
    """Trains a random model in `folder` with the interpreter of this process, and returns the lines of metrics.jsonl."""
    if not (folder / "m").exists():
        config = json.loads(CONFIG) | {"max_position_embeddings": 1024}
        (folder / "config.json").write_text(json.dumps(config))
        demo = ROOT / "recipes/demo"
        cohort(
            "init",
            "--config",
            folder / "config.json",
            "--tokenizer",
            demo,
            "--seed",
            3,
            "--output",
            folder / "m",
        )
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "recipe.toml").write_text(RECIPE.format(folder=folder, root=ROOT, factory=factory))
    run = folder / f"run-{factory.rpartition(':')[2]}"
    python = pathlib.Path(sys.executable).parent
    changes = {
        "PYTHONPATH": ":".join(map(str, [ROOT / "python", *path])),
        "PATH": f"{python}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        [PROGRAM, "train", folder / "recipe.toml", "--run-dir", run, "--threads", "1"],
        env=os.environ | changes,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
