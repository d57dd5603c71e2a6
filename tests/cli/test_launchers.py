"""Runs that torchrun starts: on one machine, as if on two, and again after a process was lost.

COHORT=build/cohort python3 tests/cli/test_launchers.py [RESTARTS]
"""

import itertools
import os
import signal
import subprocess
import sys
import time
import unittest

from cli_case import PROGRAM, ROOT, setUpModule  # noqa: F401
from run_case import RunsTest
from test_processes import FILES, SLOTS, free_port

PYTHON = (ROOT / "build/torch-python").read_text().strip()
TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--no-python")
RESTARTS = int(sys.argv.pop()) if __name__ == "__main__" and sys.argv[-1].isdigit() else 2


class TorchrunTest(RunsTest):
    def launch(self, name, *options, launcher=()):
        arguments = self.arguments("train", self.recipe, self.place / name, *SLOTS, *options)
        command = [*TORCHRUN, *launcher, PROGRAM, *arguments]
        number = next(self.numbers)
        with open(self.log_of(number), "w") as log:  # a pipe that nobody reads would stop it
            process = subprocess.Popen(
                list(map(str, command)), stdout=subprocess.DEVNULL, stderr=log, process_group=0
            )
        process.log = self.log_of(number)
        self.addCleanup(self.kill, process)
        return process

    def setUp(self):
        super().setUp()
        self.numbers = itertools.count()

    def log_of(self, number):
        return self.place / f"launcher-{number}.log"

    @staticmethod
    def kill(process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def end(self, process, code=0, timeout=120):
        process.wait(timeout=timeout)
        self.assertEqual(process.returncode, code, process.log.read_text())

    def test_on_one_machine(self):
        self.train("one", *SLOTS)
        port = ("--master-port", free_port())
        self.end(self.launch("two", launcher=("--nproc-per-node", 2, *port)))
        self.same_records(self.place / "one", self.place / "two", FILES)

    def test_on_two_machines(self):
        self.train("one", *SLOTS)
        place = (
            "--nnodes",
            2,
            "--nproc-per-node",
            1,
            "--master-addr",
            "127.0.0.1",
            "--master-port",
            free_port(),
        )
        nodes = [self.launch("two", launcher=(*place, "--node-rank", rank)) for rank in range(2)]
        for node in nodes:
            self.end(node)
        self.same_records(self.place / "one", self.place / "two", FILES)

    def children(self, process):
        """The ranks of a torchrun, in their order."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True
        )
        return sorted(map(int, listed.stdout.split()))

    def newest_checkpoint(self, name):
        steps = (int(path.name[5:]) for path in (self.place / name / "checkpoints").glob("step-*"))
        return max(steps, default=0)

    def test_goes_on_after_processes_were_killed(self):
        steps = ("--max-steps", 15 * RESTARTS, "--save-steps", 2)
        self.train("one", *SLOTS, *steps)
        again = ("--nproc-per-node", 2, "--max-restarts", RESTARTS, "--master-port", free_port())
        process = self.launch("two", "--resume", *steps, launcher=again)
        reached = 0
        for number in range(RESTARTS):
            limit = time.monotonic() + 60
            while self.newest_checkpoint("two") < reached + 4:
                self.assertIsNone(process.poll(), "torchrun has ended")
                self.assertLess(time.monotonic(), limit, process.log.read_text()[-4000:])
                time.sleep(0.02)
            ranks = self.children(process)
            os.kill(ranks[number % len(ranks)], signal.SIGKILL)
            while set(ranks) & set(self.children(process)):  # until torchrun has seen it
                self.assertLess(time.monotonic(), limit)
                time.sleep(0.02)
            reached = self.newest_checkpoint("two")
        self.end(process)
        self.same_records(self.place / "one", self.place / "two", FILES)


if __name__ == "__main__":
    unittest.main()
