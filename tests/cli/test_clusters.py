"""Runs that a Slurm and mpirun start, on this machine: Debian's packages slurmctld, slurmd, munge and openmpi-bin, which
`tools/setup.sh --clusters` installs. The Slurm is the test's own; its daemons need root.

COHORT=build/cohort python3 tests/cli/test_clusters.py
"""

import os
import pathlib
import signal
import socket
import subprocess
import time
import unittest

from cli_case import PROGRAM, setUpModule  # noqa: F401
from run_case import RunsTest
from test_processes import FILES, SLOTS, free_port

SLURM = """
ClusterName=test
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={control_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName={name} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """A Slurm of one node, whose files are in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        config = folder / "slurm.conf"
        text = SLURM.format(
            name=socket.gethostname(), folder=folder, control_port=free_port(), node_port=free_port()
        )
        config.write_text(text)
        self.environment = {**os.environ, "SLURM_CONF": str(config)}
        files = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        self.run("munged", *(f"--{flag}={folder}/munge.{name}" for flag, name in files.items()))
        self.run("slurmctld")
        self.run("slurmd")
        end = time.monotonic() + 30
        while self.run("sinfo", "--noheader", "--format=%T").stdout.strip() != "idle":
            assert time.monotonic() < end, (folder / "slurmctld.log").read_text()
            time.sleep(0.2)

    def run(self, *command, timeout=120):
        result = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, env=self.environment, timeout=timeout
        )
        assert result.returncode == 0, (command, result.stderr)
        return result

    def end(self):
        for name in ("slurmd", "slurmctld", "munge"):
            pid = self.folder / f"{name}.pid"
            if pid.exists():
                os.kill(int(pid.read_text()), signal.SIGTERM)


class ClusterTest(RunsTest):
    def setUp(self):
        super().setUp()
        self.train("one", *SLOTS)

    def command(self, name):
        return [PROGRAM, *self.arguments("train", self.recipe, self.place / name, *SLOTS)]

    def check(self, name):
        self.same_records(self.place / "one", self.place / name, FILES)

    def test_slurm(self):
        folder = pathlib.Path(self.place / "slurm")
        folder.mkdir()
        # munged wants folders in which nobody else may write.
        for part in (self.folder, self.place, folder):
            part.chmod(0o755)
        slurm = Slurm(folder)
        self.addCleanup(slurm.end)
        for size in (2, 4):
            slurm.run("srun", "--ntasks", size, *self.command(f"srun-{size}"))
            self.check(f"srun-{size}")

    def test_mpirun(self):
        for size in (2, 4):
            options = ("--allow-run-as-root", "--oversubscribe", "-n", size)
            command = ["mpirun", *options, *self.command(f"mpirun-{size}")]
            result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.check(f"mpirun-{size}")


if __name__ == "__main__":
    unittest.main()
