"""Runs of 2 to 4 processes of which one, all or the launcher are killed at random instants, and which are resumed on another
number, leave the same bytes as one process that was never killed.

COHORT=build/cohort python3 tests/cli/test_rank_kills.py [KILLS]
"""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

from cli_case import PROGRAM, setUpModule  # noqa: F401
from run_case import RunsTest
from test_launchers import TORCHRUN
from test_processes import FILES, SLOTS, free_port

NUM_KILLS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20
STEPS = ("--max-steps", 40, "--save-steps", 3)


class RankKillsTest(RunsTest):
    def start_ranks(self, name, size):
        port = free_port()
        place = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        return [
            self.popen(self.command(name), {**place, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(size)
        ]

    def start_torchrun(self, name, size):
        options = ("--nproc-per-node", size, "--max-restarts", 0, "--master-port", free_port())
        return [self.popen([*TORCHRUN, *options, *self.command(name)], {})]

    def command(self, name):
        return [
            PROGRAM,
            *self.arguments("train", self.recipe, self.place / name, *SLOTS, *STEPS, "--resume"),
        ]

    def popen(self, command, variables):
        rank = variables.get("RANK", "0")
        log = open(self.place / f"log-{rank}", "w")
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, **variables},
            process_group=0,
        )
        log.close()
        self.addCleanup(self.kill_all, process)
        return process

    @staticmethod
    def kill_all(process):
        """The process and what it has started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def wait(self, processes, limit_s):
        """Whether all have ended well; those that a kill left must end by themselves."""
        codes = [process.wait(timeout=limit_s) for process in processes]
        return all(code == 0 for code in codes)

    def wait_until_met(self, first, limit_s=60):
        """Before that, the others wait for one that is lost until their patience ends, as for one that is late."""
        end = time.monotonic() + limit_s
        while first.poll() is None and "memory planned" not in (self.place / "log-0").read_text():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def orphans_end(self, name, limit_s=40):
        """The ranks of a launcher that was killed end by themselves, too."""
        end = time.monotonic() + limit_s
        pattern = ["pgrep", "-f", f"cohort train .*{self.place / name} "]
        while subprocess.run(pattern, capture_output=True).returncode == 0:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_killed_runs_leave_the_same_bytes(self):
        begun = time.monotonic()
        self.train("one", *SLOTS, *STEPS)
        seconds = time.monotonic() - begun
        generator = random.Random(7)
        kills = {"rank": 0, "all": 0, "launcher": 0}
        round_number = 0
        while sum(kills.values()) < NUM_KILLS:
            name = f"killed-{round_number}"
            round_number += 1
            is_finished = False
            while not is_finished:
                size = generator.choice([2, 4])
                what = generator.choice(["rank", "all", "launcher"])
                start = self.start_torchrun if what == "launcher" else self.start_ranks
                processes = start(name, size)
                if sum(kills.values()) < NUM_KILLS:
                    if what != "all":
                        self.wait_until_met(processes[0])
                    time.sleep(generator.uniform(0.2, 1.5) * seconds * (3 if what == "launcher" else 1.5))
                    victims = processes if what == "all" else [generator.choice(processes)]
                    if all(victim.poll() is None for victim in victims):
                        kills[what] += 1
                    for victim in victims:
                        victim.kill()
                is_finished = self.wait(processes, limit_s=60)
                if what == "launcher":
                    self.orphans_end(name)
            self.same_records(self.place / "one", self.place / name, FILES)
        print(f"{kills} over {round_number} runs", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
