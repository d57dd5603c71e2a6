"""Runs TRL's GRPOTrainer and Cohort in alternation on the same work and prints times, peak memory and ratios.

    make build && python3 bench/compare_trl.py --workload T

Both sides train the same random model from the same prompts (bench/workloads.py), every completion drawn to its full
length, one update a step, no reference model, a reward that differs inside every group; Cohort's sampler and trainer
must agree exactly. TRL gets the micro-batch that is fastest for it. The first step of every run warms up and is left
out, but where it is the only one (--steps 1, for steps of minutes); figures are medians over the other steps of all
runs. On processors without native bfloat16 torch multiplies bfloat16 matrices slowly: there --dtype float32 is the
fair comparison of workload S.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
from dataclasses import dataclass
from functools import partial

from venvs import make_venv
from workloads import WORKLOADS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
PACKAGES = ["trl==1.16.0", "transformers==5.18.0"]
MASTER_WEIGHTS = "TRL, float32 master weights"  # reported beside, from one run


@dataclass
class Run:
    """One side's measurements: seconds of every measured step, and bytes."""

    step_s: list
    generation_s: list
    peak_bytes: int


def make_python():
    """Python with TRL beside the very torch that Cohort is built with."""
    return make_venv(".venv-trl", PACKAGES)


class Killed(SystemExit):
    """A run was killed from outside: the machine had not enough memory for it."""


def run_measured(command, log):
    """Runs a program to its end; (standard output, peak resident bytes of it or any one of its children)."""
    with open(log, "w") as errors:
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        error = Killed if process.returncode == -signal.SIGKILL else SystemExit
        raise error(
            f"{command[0]} failed with {process.returncode}:\n{output[-2000:]}{log.read_text()[-4000:]}"
        )
    return output, usage.ru_maxrss * 1024


def check_same_work(side, metrics, workload, steps):
    """Both sides must have trained the same number of tokens, from groups in which rewards differ."""
    for step, row in enumerate(metrics[:steps], 1):
        assert row["num_tokens"] == step * workload.tokens_per_step, (side, step, row["num_tokens"])
        for key in ("completions/min_length", "completions/max_length"):
            assert row[key] == workload.completion_tokens, (side, key, row[key])
        assert row["frac_reward_zero_std"] == 0, (side, "a group without any difference in reward")
    assert len(metrics) == steps, (side, "steps", len(metrics))


def measured(steps):
    """All but the first, which warms up, unless it is the only one."""
    return steps[1:] or steps


def run_trl(name, folder, settings):
    command = [make_python(), ROOT / "bench/trl_side.py", "train", name, folder, json.dumps(settings)]
    output, peak_bytes = run_measured(command, folder / "trl.log")
    result = json.loads(output.splitlines()[-1])
    check_same_work("TRL", result["metrics"], WORKLOADS[name], settings["steps"])
    return Run(measured(result["step_s"]), measured(result["generation_s"]), peak_bytes)


def write_recipe(workload, folder, dtype, steps):
    recipe = folder / "recipe.toml"
    recipe.write_text(f"""\
seed = 1
[model]
path = "{folder / "model"}"
dtype = "{dtype}"
[data]
path = "{folder / "prompts.jsonl"}"
[rollout]
prompts_per_step = {workload.prompts_per_step}
num_generations = {workload.num_generations}
max_completion_length = {workload.completion_tokens}
[[reward]]
name = "hash"
type = "python"
function = "{ROOT / "bench/hash_reward.py"}:hash_reward"
[objective]
loss_type = "grpo"
beta = 0.0
[optimizer]
learning_rate = 1e-5
[train]
max_steps = {steps}
[run]
dir = "{folder / "run"}"
""")
    return recipe


def run_cohort(name, folder, dtype, steps, options):
    shutil.rmtree(folder / "run", ignore_errors=True)
    recipe = write_recipe(WORKLOADS[name], folder, dtype, steps)
    command = [PROGRAM, "train", recipe, "--ignore-eos", *options]
    _, peak_bytes = run_measured(command, folder / "cohort.log")
    lines = {
        kind: [json.loads(line) for line in (folder / f"run/{kind}.jsonl").read_text().splitlines()]
        for kind in ("metrics", "timings")
    }
    check_same_work("Cohort", lines["metrics"], WORKLOADS[name], steps)
    for row in lines["metrics"]:
        assert row["sampling/sampling_logp_difference/max"] == 0, "sampler and trainer disagree"
    timings = measured(lines["timings"])
    return Run(
        [row["timing_s/step"] for row in timings], [row["timing_s/gen"] for row in timings], peak_bytes
    )


def trl_settings(dtype, steps, micro_batch, weights_dtype=None):
    return {
        "dtype": dtype,
        "weights_dtype": weights_dtype or dtype,
        "steps": steps,
        "micro_batch": micro_batch,
    }


def fastest_micro_batch(name, folder, dtype):
    """The number of completions per forward at which TRL's second step takes least, of at most four."""
    times = {}
    for micro_batch in (8, 16, 32, 64):
        if micro_batch > WORKLOADS[name].completions_per_step:
            break
        try:
            run = run_trl(name, folder, trl_settings(dtype, 2, micro_batch))
        except Killed:
            print(f"TRL, micro-batch {micro_batch}: killed for its memory", flush=True)
            break
        times[micro_batch] = run.step_s[0]
        print(f"TRL, micro-batch {micro_batch}: {times[micro_batch]:.2f} s a step", flush=True)
    if not times:
        sys.exit(f"TRL found no memory for workload {name}")
    return min(times, key=times.get)


def summary(runs):
    steps = [seconds for run in runs for seconds in run.step_s]
    generation = [seconds for run in runs for seconds in run.generation_s]
    return {
        "step s": statistics.median(steps),
        "generation s": statistics.median(generation),
        "peak GiB": statistics.median(run.peak_bytes for run in runs) / 2**30,
    }


def print_table(sides):
    """`sides`: label -> summary; the first one is Cohort's."""
    ours = next(iter(sides.values()))
    print(f"\n{'':36}{''.join(f'{key:>14}' for key in ours)}")
    for label, row in sides.items():
        print(f"{label:36}{''.join(f'{value:14.3f}' for value in row.values())}")
    for label, row in list(sides.items())[1:]:
        print(f"{'ratio to ' + label:36}{''.join(f'{row[key] / ours[key]:14.2f}' for key in ours)}")
    print("A ratio of 3 means that TRL takes three times as much.")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workload", choices=WORKLOADS, default="T")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], help="default: the workload's")
    parser.add_argument("--steps", type=int, default=4, help="steps a run; the first of several warms up")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side")
    parser.add_argument("--micro-batch", type=int, help="TRL's, in completions; default: the fastest of four")
    parser.add_argument("--side", choices=["both", "trl", "cohort"], default="both")
    parser.add_argument("--work-dir", type=pathlib.Path, default=ROOT / "build/compare_trl")
    parser.add_argument(
        "--cohort-option",
        action="append",
        default=[],
        help="a flag for `cohort train`, such as --recompute=true",
    )
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error("--steps must be at least 1")
    return arguments


def prepare(name, work_dir):
    """Makes a folder with the workload's model and prompts, and TRL's environment where it is missing."""
    python = make_python()
    folder = work_dir / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run([python, ROOT / "bench/trl_side.py", "make", name, folder], check=True)
    return folder


def take_run(runs, label, run):
    """Adds a run to those of its label and says what it measured, for a later one may take an hour."""
    runs.setdefault(label, []).append(run)
    figures = ", ".join(f"{key} {value:.3f}" for key, value in summary([run]).items())
    print(f"{label}: {figures}", flush=True)


def compare(name, folder, dtype, steps, repeats, micro_batch=None, side="both", options=()):
    """Label of a side -> summary of its runs, which alternate; Cohort's first."""
    runs = {"Cohort": []} if side != "trl" else {}
    programs = {}
    if side != "cohort":
        micro_batch = micro_batch or fastest_micro_batch(name, folder, dtype)
        plain = trl_settings(dtype, steps, micro_batch)
        programs[f"TRL, micro-batch {micro_batch}"] = partial(run_trl, name, folder, plain)
    if side != "trl":
        programs["Cohort"] = partial(run_cohort, name, folder, dtype, steps, options)
    if side != "cohort" and dtype == "bfloat16":
        masters = trl_settings(dtype, steps, micro_batch, "float32")
        programs[MASTER_WEIGHTS] = partial(run_trl, name, folder, masters)
    for repeat in range(repeats):
        for label, program in programs.items():
            if repeat > 0 and label == MASTER_WEIGHTS:
                continue
            try:
                take_run(runs, label, program())
            except Killed:
                if label != MASTER_WEIGHTS:
                    raise
                print(f"{label}: killed for its memory, so not in the table", flush=True)
        print(f"{name}: round {repeat + 1} of {repeats} done", flush=True)
    return {label: summary(measured) for label, measured in runs.items()}


def main():
    arguments = parse_arguments()
    name, steps = arguments.workload, arguments.steps
    dtype = arguments.dtype or WORKLOADS[name].dtype
    if arguments.side != "trl" and not PROGRAM.exists():
        sys.exit("build/cohort is missing: run `make build` first")
    folder = prepare(name, arguments.work_dir)
    sides = compare(
        name,
        folder,
        dtype,
        steps,
        arguments.repeats,
        arguments.micro_batch,
        arguments.side,
        arguments.cohort_option,
    )
    print(f"\nworkload {name}, {dtype}, {WORKLOADS[name].tokens_per_step} tokens a step on both sides")
    print_table(sides)


if __name__ == "__main__":
    main()
