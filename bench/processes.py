"""Two processes of one thread against one process of two threads: seconds a step of the same run, alternating.

  PYTHONPATH=build/python .venv-test/bin/python bench/processes.py [--workload S] [--rounds 5] [--steps 4]

Model, prompts, reward and how steps are timed are those of bench/trainer_overhead.py; torchrun starts the two processes. Both
have one slot of the gradient in each process, their own default. Prints medians and their ratio, the bytes that a process
sends for an update, and, of a run of its own, the peak memory of a process and what holds weights and moments there, as the run plans it.
"""

import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from trainer_overhead import NAMES, PROGRAM, ROOT, parse_arguments, prepare, run_in, step_seconds

TORCHRUN = (
    (ROOT / "build/torch-python").read_text().strip(),
    "-m",
    "torch.distributed.run",
    "--no-python",
    "--nproc-per-node",
    2,
)

#: Bytes of a projection's weight that is told to the others, by the workload's dtype.
WEIGHT_BYTES = {"T": 4, "S": 2}


def sent_bytes(model, weight_bytes):
    """Of each of two processes, for an update: half of the gradient in float32, and half of the weights, of which
    embeddings and norms are float32, too."""
    with open(model / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    total = 0
    for name, tensor in header.items():
        if name != "__metadata__":
            total += math.prod(tensor["shape"]) / 2 * (4 + (weight_bytes if "_proj" in name else 4))
    return total


def processes_below(pid):
    """A process and all that it started."""
    found = [pid]
    for parent in found:
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True)
        found += map(int, listed.stdout.split())
    return found


def measure_memory(folder, name, command):
    """Peak MiB of the program's largest process, and the line of its plan."""
    run, peak = folder / name, 0.0
    shutil.rmtree(run, ignore_errors=True)
    log = run.with_suffix(".log")
    with open(log, "w") as file:
        process = subprocess.Popen(list(map(str, command)), stdout=file, stderr=file)
        while process.poll() is None:
            for pid in processes_below(process.pid):
                status = pathlib.Path(f"/proc/{pid}")
                try:
                    if (status / "comm").read_text().strip() == PROGRAM.name:
                        peak = max(
                            peak,
                            float(re.search(r"VmHWM:\s+(\d+)", (status / "status").read_text())[1]) / 1024,
                        )
                except (OSError, TypeError):  # it has ended
                    continue
            time.sleep(0.2)
    plan = re.search(r"memory planned.*", log.read_text())[0]
    return peak, ", ".join(re.findall(r"(?:weights|optimizer) [\d.]+ \w+", plan))


def main():
    arguments = parse_arguments()
    folder = pathlib.Path(tempfile.mkdtemp())
    program = prepare(folder, arguments.workload, arguments.steps)[NAMES[0]]
    train = [PROGRAM, "train", folder / "recipe.toml", "--run-dir"]
    runs = {
        "1 process": [*train, folder / "1 process", "--threads", 2],
        "2 processes": [*TORCHRUN, *train, folder / "2 processes", "--threads", 1],
    }
    assert program[1] == "train"
    times = {name: [] for name in runs}
    for place in range(arguments.rounds):
        for name in runs if place % 2 == 0 else reversed(runs):
            run_in(folder / name, runs[name])
            times[name] += step_seconds(folder / name, arguments.steps)
            seconds = ", ".join(f"{one:.3f}" for one in times[name][1 - arguments.steps :])
            print(f"{name:12} {seconds} s", flush=True)
    one, two = (statistics.median(times[name]) for name in runs)
    print(
        f"{arguments.workload}: {one:.3f} s a step of one process, {two:.3f} s of two: {one / two:.3f} times as fast"
    )
    sent = sent_bytes(folder / "model", WEIGHT_BYTES[arguments.workload])
    print(f"an update: {sent / 2**20:.1f} MiB sent by each of two processes")
    for name, command in runs.items():
        peak, plan = measure_memory(folder, name, command)
        print(f"{name:12} {peak:.0f} MiB at most in a process; of that {plan}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
