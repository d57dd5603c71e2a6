"""What `cohort preflight` says of a run's time and memory against what the run takes.

  PYTHONPATH=build/python .venv-test/bin/python bench/preflight.py [--workload T S demo] [--rounds 5] [--steps 12]

T and S are those of bench/workloads.py with a hash as the reward, in Python; demo is the GRPO run of tools/demo.sh, whose
warm model runs/demo-1/warm/final is made by `make demo`. An estimate and a run alternate. Time is that of the whole command
`cohort train`, its start included; memory is the peak of the program itself (VmHWM). Prints each pair and the medians of
the ratios of estimate to run.
"""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from trainer_overhead import NAMES, PROGRAM, ROOT, prepare

GIB = 2**30


def demo_command(folder):
    """`cohort train` of the demo, as tools/demo.sh calls it."""
    run = ROOT / "runs/demo-1"
    if not (run / "warm/final").exists():
        sys.exit("runs/demo-1/warm/final is not there: make demo")
    places = ("--model.path", run / "warm/final", "--data.path", run / "train.jsonl", "--seed", 1)
    return [PROGRAM, "train", ROOT / "recipes/demo/grpo.toml", *places, "--run-dir", folder / "demo"]


def measure(command):
    """Seconds and peak GiB of a command."""
    start, peak = time.monotonic(), 0.0
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text())
        peak = max(peak, int(found[1]) * 1024 / GIB if found else 0.0)
        time.sleep(0.05)
    if process.returncode != 0:
        sys.exit(process.stderr.read().decode())
    return time.monotonic() - start, peak


def compare(name, rounds, steps):
    folder = pathlib.Path(tempfile.mkdtemp())
    train = demo_command(folder) if name == "demo" else prepare(folder, name, steps)[NAMES[0]]
    preflight = [PROGRAM, "preflight", *train[2:], "--json"]
    run_dir = pathlib.Path(train[train.index("--run-dir") + 1])
    ratios = []
    for _ in range(rounds):
        shutil.rmtree(run_dir, ignore_errors=True)
        start = time.monotonic()
        said = subprocess.run(list(map(str, preflight)), capture_output=True, text=True)
        took = time.monotonic() - start
        if said.returncode != 0:
            sys.exit(said.stdout + said.stderr)
        estimate = json.loads(said.stdout)
        seconds, peak = measure(train)
        memory = estimate["planned_memory_bytes"] / GIB
        ratios.append((estimate["run_s"] / seconds, memory / peak))
        print(
            f"{name}: estimate in {took:.1f} s: {estimate['run_s']:.1f} s and {memory:.3f} GiB; "
            f"run: {seconds:.1f} s and {peak:.3f} GiB",
            flush=True,
        )
    times, memories = zip(*ratios, strict=True)
    print(
        f"{name}: estimate over run, medians of {rounds}: time {statistics.median(times):.3f}, memory {statistics.median(memories):.3f}"
    )
    shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workload", nargs="+", choices=("T", "S", "demo"), default=["T", "S", "demo"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12, help="of a run of T or S")
    arguments = parser.parse_args()
    for name in arguments.workload:
        compare(name, arguments.rounds, arguments.steps)


if __name__ == "__main__":
    main()
