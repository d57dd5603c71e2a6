"""What a critic costs: PPO with a model as its critic, or a head on the policy, beside GRPO on one workload.

    make build && make test && python3 bench/ppo_memory.py
    python3 bench/ppo_memory.py --workload T --steps 2 --repeats 1

All train the same random model from the same prompts with one update a step; runs alternate, the first step of each
warms up and is left out, and medians count. The critic model has the policy's size, as is usual. `make test` makes the
environment (.venv-test) in which the model is made.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess

import compare_trl
from workloads import WORKLOADS

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIDES = {
    "GRPO": [],
    "PPO, critic a model": ["--objective.preset=ppo"],
    "PPO, critic a head": ["--objective.preset=ppo", "--critic.kind=head"],
}
PARTS = ("step", "gen", "values", "update_critic", "update_actor")


def prepare(name, work_dir):
    folder = work_dir / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    python = ROOT / ".venv-test/bin/python"
    subprocess.run([python, ROOT / "bench/trl_side.py", "make", name, folder], check=True)
    return folder


def seconds_of_parts(folder):
    """Part of a step -> its seconds in every step of the latest run but the first."""
    lines = [json.loads(line) for line in (folder / "run/timings.jsonl").read_text().splitlines()[1:]]
    return {part: [line.get(f"timing_s/{part}", 0.0) for line in lines] for part in PARTS}


def measure(name, folder, steps, repeats):
    """Side -> medians: seconds of the parts of a step, peak GiB."""
    seconds = {side: {part: [] for part in PARTS} for side in SIDES}
    peaks = {side: [] for side in SIDES}
    for repeat in range(repeats):
        for side, options in SIDES.items():
            run = compare_trl.run_cohort(name, folder, WORKLOADS[name].dtype, steps, options)
            peaks[side].append(run.peak_bytes / 2**30)
            for part, values in seconds_of_parts(folder).items():
                seconds[side][part] += values
        print(f"{name}: round {repeat + 1} of {repeats} done", flush=True)
    return {
        side: {
            **{f"{part} s": statistics.median(values) for part, values in seconds[side].items()},
            "peak GiB": statistics.median(peaks[side]),
        }
        for side in SIDES
    }


def table(sides):
    """In Markdown, with the ratios of time and memory to those of GRPO."""
    grpo = sides["GRPO"]
    columns = [*grpo, "step / GRPO's", "peak / GRPO's"]
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for side, row in sides.items():
        ratios = (row[key] / grpo[key] for key in ("step s", "peak GiB"))
        lines.append(
            "| " + " | ".join([side, *(f"{value:.2f}" for value in (*row.values(), *ratios))]) + " |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workload", choices=WORKLOADS, default="S")
    parser.add_argument("--steps", type=int, default=4, help="steps a run, the first one warms up")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side")
    parser.add_argument("--work-dir", type=pathlib.Path, default=ROOT / "build/ppo_memory")
    arguments = parser.parse_args()
    if arguments.steps < 2:
        parser.error("--steps must be at least 2: the first step only warms up")
    name = arguments.workload
    folder = prepare(name, arguments.work_dir)
    print(table(measure(name, folder, arguments.steps, arguments.repeats)))


if __name__ == "__main__":
    main()
