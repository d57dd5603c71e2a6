"""Two processes on machines of their own (network namespaces), between which the link is dropped: each names the other and ends,
and the run goes on from its newest checkpoint when the link is back. Needs root and iproute2.

COHORT=build/cohort python3 tests/cli/test_dropped_link.py
"""

import os
import subprocess
import time
import unittest

from cli_case import PROGRAM, setUpModule  # noqa: F401
from run_case import RunsTest
from test_processes import FILES, SLOTS

NETWORK = f"10.{os.getpid() // 250 % 250}.{os.getpid() % 250}"
STEPS = ("--max-steps", 3000, "--save-steps", 10)


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True)


class DroppedLinkTest(RunsTest):
    def setUp(self):
        super().setUp()
        self.machines = [f"cohort-{os.getpid()}-{rank}" for rank in range(2)]
        for machine in self.machines:
            ip("netns", "add", machine)
            self.addCleanup(ip, "netns", "del", machine)
        places = [word for machine in self.machines for word in ("netns", machine)]
        ip(
            "link",
            "add",
            "link0",
            places[0],
            places[1],
            "type",
            "veth",
            "peer",
            "name",
            "link0",
            places[2],
            places[3],
        )
        for rank, machine in enumerate(self.machines):
            ip("-n", machine, "addr", "add", f"{NETWORK}.{rank + 1}/24", "dev", "link0")
            self.set_link(rank, "up")
            ip("-n", machine, "link", "set", "lo", "up")

    def set_link(self, rank, state):
        ip("-n", self.machines[rank], "link", "set", "link0", state)

    def start(self, *options):
        processes = []
        for rank, machine in enumerate(self.machines):
            place = {"RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "29500"}
            place |= {"MASTER_ADDR": f"{NETWORK}.1", "GLOO_SOCKET_IFNAME": "link0"}
            arguments = self.arguments("train", self.recipe, self.place / "run", *SLOTS, *options)
            command = ["ip", "netns", "exec", machine, PROGRAM, *map(str, arguments)]
            processes.append(
                subprocess.Popen(
                    command,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={**os.environ, **place},
                )
            )
            self.addCleanup(processes[-1].kill)
        return processes

    def test_each_names_the_other(self):
        processes = self.start(*STEPS)
        end = time.monotonic() + 60
        while not list((self.place / "run/checkpoints").glob("step-*")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.set_link(1, "down")
        dropped = time.monotonic()
        errors = [process.communicate(timeout=60)[1].splitlines()[-1] for process in processes]
        self.assertLess(time.monotonic() - dropped, 30)
        self.assertEqual([process.returncode for process in processes], [75, 75], errors)
        self.assertRegex(errors[0], r"\Acohort: rank 1 \(.*, process \d+\) has given no sign")
        self.assertRegex(errors[1], r"\Acohort: rank 0 at .* has not answered for \d+ s")
        self.set_link(1, "up")
        newest = max(int(path.name[5:]) for path in (self.place / "run/checkpoints").glob("step-*"))
        steps = ("--max-steps", newest + 20, "--save-steps", 10)
        for process in self.start(*steps, "--resume"):
            error = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 0, error)
        self.train("one", *SLOTS, *steps)
        self.same_records(self.place / "one", self.place / "run", FILES)


if __name__ == "__main__":
    unittest.main()
