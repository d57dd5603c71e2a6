"""A run of many steps takes no more memory, open files and disk than it did when it was young, but for the lines of its records.

COHORT=build/cohort python3 tests/cli/test_long_run.py [STEPS]
"""

import os
import pathlib
import subprocess
import sys
import time
import unittest

from cli_case import PROGRAM, read_lines, setUpModule  # noqa: F401
from run_case import RunsTest

STEPS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 2000
LIMIT = 2
GROWTH_MIB = (
    8  # of resident memory from a tenth of the run on: tables of allocators, pages of the log's buffers
)


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


class LongRunTest(RunsTest):
    def disk(self, run_dir):
        """Bytes of the checkpoints, and the number of files that are no records."""
        files = [path for path in run_dir.rglob("*") if path.is_file()]
        inside = [path for path in files if "checkpoints" in path.parts]
        return sum(path.stat().st_size for path in inside), len(files)

    def test_takes_what_is_planned(self):
        run_dir = self.place / "run"
        options = ("--max-steps", STEPS, "--save-steps", STEPS // 40, "--save-total-limit", LIMIT)
        options += ("--eval-steps", STEPS // 20, "--data.test-split-size", 0.3, "--rollout.prompts-ahead", 1)
        options += ("--objective.ratio-anchor", "sampler")
        process = subprocess.Popen(
            [PROGRAM, *map(str, self.arguments("train", self.recipe, run_dir, *options))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        samples = []
        metrics = run_dir / "metrics.jsonl"
        while process.poll() is None:
            time.sleep(0.25)
            try:
                steps = metrics.read_bytes().count(b"\n") if metrics.exists() else 0
                files = len(os.listdir(f"/proc/{process.pid}/fd"))
                samples.append(
                    (steps, resident_mib(process.pid), files, len(os.listdir(run_dir / "checkpoints")))
                )
            except (FileNotFoundError, IndexError, ProcessLookupError):
                continue
        self.assertEqual(process.returncode, 0, process.stderr.read())
        process.stderr.close()
        self.assertEqual(len(read_lines(metrics)), STEPS)
        grown = [one for one in samples if one[0] >= STEPS // 10]
        young = grown[0]
        most = [max(one[place] for one in grown) for place in (1, 2, 3)]
        lines = {
            name: (run_dir / name).stat().st_size // STEPS for name in ("metrics.jsonl", "timings.jsonl")
        }
        checkpoint_bytes, num_files = self.disk(run_dir)
        print(
            f"{STEPS} steps: resident {young[1]:.1f} MiB after {young[0]} steps, at most {most[0]:.1f} MiB; "
            f"{young[2]} and {most[1]} open files; {num_files} files, {checkpoint_bytes >> 10} KiB of checkpoints, "
            f"{lines} bytes a step",
            file=sys.stderr,
        )
        self.assertLessEqual(most[0], young[1] + GROWTH_MIB)
        self.assertLessEqual(most[1], young[2] + 4)  # while a checkpoint or an evaluation is written
        self.assertLessEqual(most[2], LIMIT + 2)  # one half-written and one half-deleted
        self.assertEqual(len(os.listdir(run_dir / "checkpoints")), LIMIT)
        self.assertLess(num_files, 60)


if __name__ == "__main__":
    unittest.main()
