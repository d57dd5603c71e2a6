"""How long `cohort view` takes with a long run: to open it, to filter and sort its completions, and its memory.

  python3 bench/view_records.py --output /tmp/long-run   # 10,000 steps, 2,000,000 completions
  python3 bench/view_large.py /tmp/long-run [--rounds 5] [--cold]

Prints medians of the rounds. --cold drops the system's cache of files before each server starts; it needs root.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time
import urllib.parse
import urllib.request

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "build/cohort"
REQUESTS = {
    "a page of the newest": ("completions", {"sort": "step", "descending": 1, "limit": 50}),
    "filter by reward and steps": (
        "completions",
        {"reward_from": 1, "step_from": 2000, "step_to": 8000, "limit": 50},
    ),
    "filter by flag, sort by advantage": (
        "completions",
        {"flag": "failed", "sort": "advantage", "descending": 1, "limit": 500},
    ),
    "sort by prompt, 500 rows": ("completions", {"sort": "prompt", "limit": 500, "offset": 1000000}),
    "sort by tokens, 500 rows": ("completions", {"sort": "tokens", "limit": 500, "offset": 1000000}),
    "all prompts, 500 rows": ("prompts", {"limit": 500}),
    "statuses of rewards": ("rewards", {}),
    "findings": ("findings", {}),
    "difference to itself": ("diff", {"a": 0, "b": 0}),
}


def ask(address, name, query):
    with urllib.request.urlopen(f"{address}api/{name}?{urllib.parse.urlencode(query)}") as answer:
        return json.load(answer)


def peak_mib(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def one_round(run, is_cold):
    """Seconds of each request, and the server's peak of memory in MiB."""
    if is_cold:
        subprocess.run(["sync"], check=True)
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    began = time.perf_counter()
    server = subprocess.Popen([PROGRAM, "view", run], stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().strip()
    ask(address, "runs", {})
    times = {"open": time.perf_counter() - began}
    for title, (name, query) in REQUESTS.items():
        began = time.perf_counter()
        ask(address, name, query)
        times[title] = time.perf_counter() - began
    memory = peak_mib(server)
    server.terminate()
    server.wait()
    return times, memory


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    arguments = parser.parse_args()
    rounds = [one_round(arguments.run, arguments.cold) for _ in range(arguments.rounds)]
    for title in rounds[0][0]:
        print(f"{title:36} {statistics.median(times[title] for times, _ in rounds):.3f} s")
    print(f"{'peak of memory':36} {max(memory for _, memory in rounds):.0f} MiB")


if __name__ == "__main__":
    main()
