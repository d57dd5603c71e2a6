"""Two processes of one thread against one process of two threads: seconds a step of the same run, alternating.

  PYTHONPATH=build/python .venv-test/bin/python bench/processes.py [--workload S] [--rounds 5] [--steps 4]

Model, prompts, reward and how steps are timed are those of bench/trainer_overhead.py; torchrun starts the two processes. Both
have one slot of the gradient in each process, their own default. Prints medians, their ratio and the bytes that a process
sends for the gradients of an update.
"""

import json
import pathlib
import shutil
import statistics
import sys
import tempfile

from trainer_overhead import NAMES, PROGRAM, ROOT, parse_arguments, prepare, run_in, step_seconds

TORCHRUN = (
    (ROOT / "build/torch-python").read_text().strip(),
    "-m",
    "torch.distributed.run",
    "--no-python",
    "--nproc-per-node",
    2,
)


def num_parameters(model):
    """Of a model that trains all weights, from the header of its file."""
    with open(model / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    total = 0
    for name, tensor in header.items():
        if name != "__metadata__":
            count = 1
            for length in tensor["shape"]:
                count *= length
            total += count
    return total


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
    sent = 4 * num_parameters(folder / "model")  # 2 (R - 1) / R values of four bytes for each parameter
    print(f"gradients of an update: {sent / 2**20:.1f} MiB sent by each of two processes")
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
