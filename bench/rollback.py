"""Going back after an alarm: a run that is made to collapse, with and without `action = "rollback"`, and healthy runs.

  make demo && python3 bench/rollback.py [--demo runs/demo-1] [--healthy 20]

The demo's warm model learns countdown. Collapsing runs take five times the demo's learning rate, without decay; healthy ones
have the demo's. The monitor is the same in all: the reward, over 20 steps, is half of its best. Prints rollbacks, and the mean
reward of the first and the last ten steps. Two runs at a time, of one thread.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECIPE = """
seed = {seed}
model = {{path = "{demo}/warm/final", dtype = "float32"}}
data = {{path = "{demo}/train.jsonl"}}
run = {{dir = "{run}"}}
rollout = {{prompts_per_step = 16, num_generations = 8, max_completion_length = 64, temperature = 1.2}}
optimizer = {{adam_beta2 = 0.95, {rate}}}
train = {{max_steps = 200, save_steps = 5, log_completions = false}}
[[reward]]
name = "accuracy"
type = "countdown"
"""
MONITOR = """
[[monitor]]
metric = "reward"
drop = 0.5
window = 20
action = "rollback"
"""
HEALTHY = 'learning_rate = 2e-4, lr_scheduler_type = "linear", warmup_steps = 5'
COLLAPSING = 'learning_rate = 1e-3, lr_scheduler_type = "constant", warmup_steps = 60'


def train(folder, name, demo, seed, rate, tables):
    """Rollbacks of a run, and its mean reward at its start and end."""
    run, recipe = folder / name, folder / f"{name}.toml"
    recipe.write_text(RECIPE.format(seed=seed, demo=demo, run=run, rate=rate) + tables)
    command = [ROOT / "build/cohort", "train", recipe, "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and "gone back" not in done.stderr:
        raise SystemExit(done.stderr)
    rewards = [json.loads(line)["reward"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines = (run / "rollbacks.jsonl").read_text().splitlines() if (run / "rollbacks.jsonl").exists() else []
    shutil.rmtree(run)
    steps = [f"{row['step']} to {row['to_step']}" for row in map(json.loads, lines)]
    print(
        f"{name:24} {len(steps)} rollbacks ({', '.join(steps)}); {len(rewards)} steps, reward "
        f"{sum(rewards[:10]) / 10:.3f} to {sum(rewards[-10:]) / 10:.3f}",
        flush=True,
    )
    return len(steps)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--demo", type=pathlib.Path, default=ROOT / "runs/demo-1", help="what make demo left")
    parser.add_argument("--healthy", type=int, default=20, help="healthy runs, with seeds of their own")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    runs = [(f"collapsing {seed}", seed, COLLAPSING, "") for seed in (1, 2, 3)]
    runs += [(f"collapsing {seed}, rollback", seed, COLLAPSING, MONITOR) for seed in (1, 2, 3)]
    runs += [(f"healthy {seed}", seed, HEALTHY, MONITOR) for seed in range(1, options.healthy + 1)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = [
            pool.submit(train, folder, name, options.demo.resolve(), seed, rate, tables)
            for name, seed, rate, tables in runs
        ]
        numbers = [future.result() for future in futures]
    alarms = sum(number > 0 for number in numbers[6:])
    print(f"{sum(number > 0 for number in numbers[3:6])} of 3 collapsing runs went back")
    print(f"{alarms} of {options.healthy} healthy runs did")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
