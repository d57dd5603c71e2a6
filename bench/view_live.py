"""What `cohort view` costs a run that it shows live: seconds a step with and without it, alternating.

  PYTHONPATH=build/python .venv-test/bin/python bench/view_live.py [--workload T] [--rounds 5] [--steps 12]

Model, prompts and reward are those of bench/trainer_overhead.py, on all processors. The reader follows the run as the page
does: it hears of each change, and then asks for the list of runs and for 12 figures of the run, at most once a second. What a
browser takes to draw them is not counted. Prints the medians, their ratio, and the processor time that the server took.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from trainer_overhead import NAMES, PROGRAM, prepare, run_in, step_seconds
from workloads import WORKLOADS

NUM_FIGURES = 12  # some that a page shows at once


class Page:
    """Follows a run's changes as the page does."""

    def __init__(self, address):
        self.address, self.num_answers = address, 0
        self.events = urllib.request.urlopen(address + "events")
        threading.Thread(target=self.follow, daemon=True).start()

    def ask(self, name, *query):
        with urllib.request.urlopen(f"{self.address}api/{name}?{urllib.parse.urlencode(query)}") as answer:
            self.num_answers += 1
            return json.load(answer)

    def follow(self):
        try:
            for line in self.events:
                if line.startswith(b"data: "):
                    self.ask("runs")
                    names = [metric["name"] for metric in self.ask("metrics", ("run", 0))]
                    if names:
                        self.ask("figures", ("run", 0), *(("name", name) for name in names[:NUM_FIGURES]))
                    time.sleep(1.0)
        except OSError:  # the server has ended
            pass


def watched(run, command):
    """Runs a command while the page is open; seconds of processor time of the server, and answers it gave."""
    result = {}

    def watch():
        while not (run / "metrics.jsonl").exists():
            time.sleep(0.02)
        server = subprocess.Popen([PROGRAM, "view", run], stdout=subprocess.PIPE, text=True)
        page = Page(server.stdout.readline().strip())
        ended.wait()
        user, system = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        result["seconds"] = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        result["answers"] = page.num_answers
        server.terminate()
        server.wait()

    shutil.rmtree(run, ignore_errors=True)
    ended = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    run_in(run, command)
    ended.set()
    watcher.join()
    return result["seconds"], result["answers"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workload", choices=WORKLOADS, default="T")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12, help="of a run")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    command, run = prepare(folder, arguments.workload, arguments.steps)[NAMES[0]], folder / NAMES[0]
    times = {"alone": [], "shown": []}
    for place in range(arguments.rounds):
        for kind in times if place % 2 == 0 else reversed(times):
            if kind == "alone":
                run_in(run, command)
            else:
                seconds, answers = watched(run, command)
            taken = step_seconds(run, arguments.steps)
            times[kind] += taken
            print(f"{kind:6} {statistics.median(taken):.3f} s a step", flush=True)
            if kind == "shown":
                share = seconds / sum(taken)
                print(
                    f"       the server: {seconds:.2f} s, {100 * share:.2f} % of a processor, {answers} answers"
                )
    alone, shown = (statistics.median(times[kind]) for kind in ("alone", "shown"))
    print(f"{arguments.workload}: {alone:.3f} and {shown:.3f} s a step, ratio {shown / alone:.4f}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
