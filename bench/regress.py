"""What bench/regress.sh runs when both commits are built: regress.py BASE_FOLDER HEAD_FOLDER ROUNDS.

Every round trains each model for a few steps with the one program and then with the other, on the same data. Prints
median seconds of a step and of its halves, generation and update, and their ratio; exit code 1 where a step grew by
more than 5 %. The halves are not judged, since work moves between them.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build/regress/work"
MOST = 1.05
STEPS = 5  # the first one warms up
SHAPES = {  # hidden size, layers, query heads, key heads, MLP, dtype
    "demo": (128, 4, 4, 2, 384, "float32"),
    "wide": (256, 6, 4, 2, 704, "float32"),
    "bfloat16": (576, 6, 9, 3, 1536, "bfloat16"),
}
KINDS = {"step": "timing_s/step", "generation": "timing_s/gen", "update": "timing_s/update_actor"}
RECIPE = f"""\
[rollout]
prompts_per_step = 16
num_generations = 8
max_completion_length = 96
[[reward]]
name = "hash"
type = "python"
function = "{ROOT / "bench/hash_reward.py"}:hash_reward"
"""


def run(program, *arguments):
    subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def make_models(program):
    """A random model of each shape, and problems, made by the base commit."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    demo = json.loads((ROOT / "recipes/demo/config.json").read_text())
    for name, (hidden, layers, heads, kv_heads, inner, _) in SHAPES.items():
        shape = {"hidden_size": hidden, "num_hidden_layers": layers, "intermediate_size": inner}
        shape |= {"num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": hidden // heads}
        config = WORK / f"{name}.json"
        config.write_text(json.dumps(demo | shape))
        tokenizer = ROOT / "recipes/demo"
        run(program, "init", "--config", config, "--tokenizer", tokenizer, "--output", WORK / name)
    run(program, "data", "countdown", "--count", 512, "--seed", 1, "--output", WORK / "train.jsonl")


def measure(program, name, dtype):
    """Seconds of every step but the first: kind -> list."""
    folder = WORK / "run"
    shutil.rmtree(folder, ignore_errors=True)
    recipe = WORK / "recipe.toml"
    recipe.write_text(RECIPE)
    options = ["--model.path", WORK / name, "--data.path", WORK / "train.jsonl", "--model.dtype", dtype]
    run(program, "train", recipe, *options, "--ignore-eos", "--max-steps", STEPS, "--run-dir", folder)
    rows = [json.loads(line) for line in (folder / "timings.jsonl").read_text().splitlines()][1:]
    return {kind: [row[key] for row in rows] for kind, key in KINDS.items()}


def main():
    folders, rounds = sys.argv[1:3], int(sys.argv[3])
    programs = [ROOT / folder / "build/cohort" for folder in folders]
    make_models(programs[0])
    times = {(name, kind, side): [] for name in SHAPES for kind in KINDS for side in (0, 1)}
    for done in range(rounds):
        for name, (*_, dtype) in SHAPES.items():
            for side in (0, 1) if done % 2 == 0 else (1, 0):
                for kind, seconds in measure(programs[side], name, dtype).items():
                    times[name, kind, side] += seconds
    is_slower = False
    print(f"{'':24}{'base s':>10}{'head s':>10}{'ratio':>8}")
    for name in SHAPES:
        for kind in KINDS:
            base, head = (statistics.median(times[name, kind, side]) for side in (0, 1))
            verdict = "  slower" if kind == "step" and head > MOST * base else ""
            is_slower |= bool(verdict)
            print(f"{name + ', ' + kind:24}{base:10.3f}{head:10.3f}{head / base:8.3f}{verdict}")
    sys.exit(1 if is_slower else 0)


if __name__ == "__main__":
    main()
