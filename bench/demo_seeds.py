"""The demo for several seeds, each beside what the same seconds of further supervised training reach.

    make build && python3 bench/demo_seeds.py --seeds 1 2 3

Prints accuracy and format on the 512 held-out problems (sampled at temperature 1) at the start, after GRPO, and after
supervised training on the demonstrations of the warm start, with a fresh optimizer and its schedule over the seconds
that GRPO took. Runs stay in runs/demo-SEED.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"


def step_seconds(run):
    return [json.loads(line)["timing_s/step"] for line in (run / "timings.jsonl").read_text().splitlines()]


def share(path):
    return 100 * json.loads(path.read_text())["mean"]


def further_sft(run, seed, seconds):
    """Accuracy after `seconds` of supervised training from where GRPO started."""
    steps = round(seconds / statistics.median(step_seconds(run / "warm")))
    subprocess.run(
        [PROGRAM, "sft", ROOT / "recipes/demo/sft.toml", "--seed", str(seed), "--max-steps", str(steps)]
        + ["--model.path", run / "warm/final", "--data.path", run / "demonstrations.jsonl"]
        + ["--run-dir", run / "further-sft"],
        check=True,
    )
    output = run / "sft-accuracy.json"
    subprocess.run(
        [PROGRAM, "eval", "--model", run / "further-sft/final", "--input", run / "test.jsonl"]
        + ["--reward", "countdown", "--num-generations", "4"]
        + ["--max-completion-length", "64", "--output", output],
        check=True,
    )
    return share(output), sum(step_seconds(run / "further-sft"))


def demo(seed):
    began = time.perf_counter()
    subprocess.run([ROOT / "tools/demo.sh"], env={**os.environ, "SEED": str(seed)}, check=True)
    whole = time.perf_counter() - began
    run = ROOT / f"runs/demo-{seed}"
    grpo = sum(step_seconds(run / "grpo"))
    accuracy, sft = further_sft(run, seed, grpo)
    return {
        "seed": seed,
        "format before %": share(run / "before-format.json"),
        "before %": share(run / "before-accuracy.json"),
        "after GRPO %": share(run / "after-accuracy.json"),
        "after SFT %": accuracy,
        "GRPO s": grpo,
        "SFT s": sft,
        "whole s": whole,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    rows = [demo(seed) for seed in parser.parse_args().seeds]
    print("".join(f"{key:>17}" for key in rows[0]))
    for row in rows:
        print("".join(f"{value:17.1f}" for value in row.values()))


if __name__ == "__main__":
    main()
