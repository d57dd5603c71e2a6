"""What GRPOTrainer costs over `cohort train`: seconds a step and peak memory of the same run, alternating.

  PYTHONPATH=build/python .venv-test/bin/python bench/trainer_overhead.py [--workload S] [--rounds 5] [--steps 6]

Model and prompts are those of bench/workloads.py; the reward is a hash, in Python in both. Memory is the largest resident
size of all processes of a run, which is not timed: `cohort train` starts a Python process for the reward. The seconds of a
step are those between two lines of the log, callbacks included; the first step warms up. Prints medians and their ratio.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from workloads import WORKLOADS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
NAMES = ("cohort train", "GRPOTrainer")


def train_in_python(folder, name, steps):
    """A child's work: the trainer, without its model as an object."""
    from hash_reward import hash_reward

    from cohort import GRPOConfig, GRPOTrainer  # before torch

    workload = WORKLOADS[name]
    args = GRPOConfig(
        f"{folder}/GRPOTrainer",
        max_steps=int(steps),
        per_device_train_batch_size=workload.completions_per_step,
        num_generations=workload.num_generations,
        max_completion_length=workload.completion_tokens,
        generation_kwargs={"ignore_eos": True},
        bf16=workload.dtype == "bfloat16",
        report_to="none",
        disable_tqdm=True,
        save_strategy="no",
    )
    GRPOTrainer(f"{folder}/model", hash_reward, args, train_dataset=f"{folder}/prompts.jsonl").train()


def step_ends(run):
    """Wall-clock seconds at which the lines of a run's log were written, from its TensorBoard events."""
    (path,) = run.glob("**/*tfevents*")
    data, place, times = path.read_bytes(), 0, []
    while place < len(data):
        (size,) = struct.unpack_from("<Q", data, place)
        tag, seconds = struct.unpack_from("<Bd", data, place + 12)
        assert tag == 9, "an event begins with its time"
        times.append(seconds)
        place += 16 + size
    return sorted(set(times))


def resident_mib(process):
    """Resident MiB of a process and of all that it has started; 0 for one that has ended."""
    try:
        pages = int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1])
        tasks = pathlib.Path(f"/proc/{process}/task").iterdir()
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(map(resident_mib, children))


def run_in(run, command, watch=False):
    """Runs a command, which makes the directory `run`; its peak MiB if it is watched."""
    shutil.rmtree(run, ignore_errors=True)
    log, peak = run.with_suffix(".log"), 0.0
    with open(log, "w") as file:
        process = subprocess.Popen(list(map(str, command)), stdout=file, stderr=file)
        while watch and process.poll() is None:
            peak = max(peak, resident_mib(process.pid))
            time.sleep(0.02)
    if process.wait() != 0:
        sys.exit(log.read_text())
    return peak


def step_seconds(run, steps):
    """Seconds of the steps after the first one."""
    ends = step_ends(run)[-steps:]
    return [after - before for before, after in zip(ends, ends[1:], strict=False)]


def prepare(folder, name, steps):
    """The commands of both sides; Cohort's recipe is the one that the trainer writes."""
    subprocess.run([sys.executable, ROOT / "bench/trl_side.py", "make", name, folder], check=True)
    trainer = [sys.executable, __file__, "--run", folder, name, steps]
    run_in(folder / NAMES[1], trainer)
    recipe = (folder / NAMES[1] / "inputs/recipe.toml").read_text()
    function = f'type = "python"\nfunction = "{ROOT}/bench/hash_reward.py:hash_reward"'
    (folder / "recipe.toml").write_text(recipe.replace('type = "callable"', function))
    program = [PROGRAM, "train", folder / "recipe.toml", "--run-dir", folder / NAMES[0]]
    return dict(zip(NAMES, (program, trainer), strict=True))


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workload", choices=WORKLOADS, default="T")
    parser.add_argument("--rounds", type=int, default=5, help="of both; 0 measures memory alone")
    parser.add_argument("--steps", type=int, default=6, help="of a run")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    folder = pathlib.Path(tempfile.mkdtemp())
    commands = prepare(folder, arguments.workload, arguments.steps)
    peaks = {name: run_in(folder / name, commands[name], watch=True) for name in NAMES}
    for name in NAMES:
        print(f"{name:14} {peaks[name]:8.1f} MiB", flush=True)
    print(f"{arguments.workload}: {peaks[NAMES[1]] - peaks[NAMES[0]]:.0f} MiB more", flush=True)
    times = {name: [] for name in NAMES}
    for place in range(arguments.rounds):
        for name in NAMES if place % 2 == 0 else reversed(NAMES):
            run_in(folder / name, commands[name])
            times[name] += step_seconds(folder / name, arguments.steps)
            print(
                f"{name:14} {', '.join(f'{one:.3f}' for one in times[name][1 - arguments.steps :])} s",
                flush=True,
            )
    if arguments.rounds:
        program, trainer = (statistics.median(times[name]) for name in NAMES)
        print(
            f"{arguments.workload}: {program:.3f} and {trainer:.3f} s a step, ratio {trainer / program:.3f}"
        )
    shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        train_in_python(*sys.argv[2:])
    else:
        main()
