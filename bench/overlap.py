"""Seconds of a step with a slow reward, by the number of prompts that are drawn ahead (rollout.prompts_ahead).

  make demo && python3 bench/overlap.py [--demo runs/demo-1] [--latency 2] [--rounds 5]

The demo's warm model learns countdown. A second reward with weight 0 waits, as a judge behind a network does: each completion
has a time of its own up to `--latency` seconds, and all wait beside each other. Alternating runs; prints medians over the
steps of all rounds but the first two of a run, and the mean reward of the last five.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROMPTS = 16
RECIPE = """
seed = 1
model = {{path = "{demo}/warm/final", dtype = "float32"}}
data = {{path = "{demo}/train.jsonl"}}
rollout = {{prompts_per_step = {prompts}, num_generations = 8, max_completion_length = 64, prompts_ahead = {ahead}}}
objective = {{ratio_anchor = "sampler"}}
optimizer = {{adam_beta2 = 0.95, learning_rate = 2e-4, warmup_steps = 5}}
train = {{max_steps = {steps}, save_steps = 0, preflight = false}}
[[reward]]
name = "accuracy"
type = "countdown"
[[reward]]
name = "judge"
type = "python"
function = "{folder}/judge.py:judge"
weight = 0.0
timeout_s = 60
workers = 8
batch_size = 32
"""
JUDGE = """
import asyncio
import random

async def judge(completions, **columns):
    await asyncio.gather(*[asyncio.sleep(random.Random(text).uniform(0, {latency})) for text in completions])
    return [0.0] * len(completions)
"""


def train(folder, demo, ahead, steps):
    """Lines of timings.jsonl, and the mean reward of the last five steps."""
    run, recipe = folder / "run", folder / "recipe.toml"
    recipe.write_text(RECIPE.format(demo=demo, folder=folder, prompts=PROMPTS, ahead=ahead, steps=steps))
    command = [ROOT / "build/cohort", "train", recipe, "--run-dir", run]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    timings = [json.loads(line) for line in (run / "timings.jsonl").read_text().splitlines()]
    rewards = [json.loads(line)["reward"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    shutil.rmtree(run)
    return timings[2:], statistics.mean(rewards[-5:])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--demo", type=pathlib.Path, default=ROOT / "runs/demo-1", help="what make demo left")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds of a completion's judge, at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "judge.py").write_text(JUDGE.format(latency=options.latency))
    lines = {ahead: [] for ahead in (0, PROMPTS // 2, PROMPTS)}
    rewards = {ahead: [] for ahead in lines}
    for _ in range(options.rounds):
        for ahead in lines:
            timings, reward = train(folder, options.demo.resolve(), ahead, options.steps)
            lines[ahead] += timings
            rewards[ahead].append(reward)
    for ahead, timings in lines.items():
        parts = {
            name: statistics.median(line.get(f"timing_s/{name}", 0.0) for line in timings)
            for name in ("step", "gen", "gen_ahead", "reward", "update_actor")
        }
        text = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items())
        print(f"{ahead:3} prompts ahead: {text}; reward {statistics.mean(rewards[ahead]):.3f}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
