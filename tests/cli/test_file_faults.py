"""Every write, sync, rename and deletion of a run fails once, or the power is cut there: the run ends with one line, and
resumed, it writes the bytes of a run that nothing happened to. No checkpoint that was finished is lost.

COHORT=build/cohort FILE_FAULTS=build/tests/libfile_faults.so python3 tests/cli/test_file_faults.py [states]

Without a number a few hundred states are tried, evenly spread; `all` tries each.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from cli_case import PROGRAM, run, setUpModule  # noqa: F401
from run_case import RunsTest

SHIM = pathlib.Path(os.environ["FILE_FAULTS"]).resolve()
STATES = sys.argv.pop(1) if len(sys.argv) > 1 else "200"
WAYS = ("enospc", "eio", "kill", "cut", "torn")
#: Runs with files of all kinds: options and the files that are compared.
RUNS = {
    "plain": ((), "model.safetensors"),
    "adapter": (("--lora.r", 2), "adapter_model.safetensors"),
    "critic": (("--objective.preset", "ppo", "--save-total-limit", 2), "model.safetensors"),
    "evaluated": (
        ("--data.test-split-size", 0.3, "--eval-steps", 1, "--save-batches", "true"),
        "model.safetensors",
    ),
}


class FileFaultsTest(RunsTest):
    def setUp(self):
        super().setUp()
        text = self.recipe.read_text()
        reward = text[text.index("[[reward]]") : text.index("[optimizer]")]
        text = text.replace(reward, '[[reward]]\nname = "letters"\ntype = "regex"\npattern = "[a-m]"\n')
        self.recipe.write_text(text.replace("save_steps = 2", "save_steps = 1\npreflight = false"))

    def command(self, run_dir, options):
        return [PROGRAM, *map(str, self.arguments("train", self.recipe, run_dir, *options))]

    def environment(self, run_dir, **settings):
        trash = run_dir.with_name(run_dir.name + "-trash")
        trash.mkdir(exist_ok=True)
        given = {f"FILE_FAULTS_{name}": str(value) for name, value in settings.items()}
        places = {"FILE_FAULTS_UNDER": str(run_dir), "FILE_FAULTS_TRASH": str(trash)}
        return {**os.environ, **places, **given, "LD_PRELOAD": str(SHIM)}

    def operations(self, name, options):
        """What a run without a fault does: (operation, path below the run)."""
        run_dir, log = self.place / name, self.place / f"{name}.log"
        process = subprocess.run(
            self.command(run_dir, options),
            env=self.environment(run_dir, LOG=log),
            capture_output=True,
            text=True,
        )
        self.assertEqual(process.returncode, 0, process.stderr)
        lines = [line.split(" ", 2) for line in log.read_text().splitlines()]
        self.assertEqual([int(line[0]) for line in lines], list(range(1, len(lines) + 1)))
        return [(line[1], line[2].removeprefix(str(run_dir))) for line in lines]

    @staticmethod
    def finished_checkpoints(operations):
        """For each operation, the newest checkpoint that was on the disk for good before it."""
        newest, renamed, result = 0, 0, []
        for operation, path in operations:
            result.append(newest)
            found = re.fullmatch(r"/checkpoints/step-(\d+)", path)
            if operation == "rename" and found:
                renamed = int(found[1])
            if operation == "sync" and path == "/checkpoints":
                newest = renamed
        return result

    def try_one(self, kind, options, files, way, place, operation, finished):
        run_dir = self.place / f"{kind}-{way}-{place}"
        what = f"{kind}, {way} at {place}: {operation}"
        process = subprocess.run(
            self.command(run_dir, options),
            env=self.environment(run_dir, AT=place, HOW=way),
            capture_output=True,
            text=True,
            timeout=60,
        )
        if way in ("enospc", "eio"):
            self.assertIn(process.returncode, (0, 2), f"{what}: {process.stderr}")
            if process.returncode == 2:
                last = process.stderr.splitlines()[-1]
                self.assertRegex(last, r"\Acohort: .", what)
                self.assertIn({"enospc": "No space left", "eio": "Input/output error"}[way], last, what)
        else:
            self.assertEqual(process.returncode, 137, f"{what}: {process.stderr}")
        checkpoints = [int(path.name[5:]) for path in (run_dir / "checkpoints").glob("step-*")]
        self.assertGreaterEqual(max(checkpoints, default=0), finished, what)
        resumed = subprocess.run(
            [*self.command(run_dir, options), "--resume"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(resumed.returncode, 0, f"{what}: {resumed.stderr}")
        for name in files:
            self.assertEqual(
                (run_dir / name).read_bytes(), (self.place / kind / name).read_bytes(), f"{what}: {name}"
            )
        # What could not be deleted stays in the trash until the next checkpoint; nothing reads it.
        left = [path.name for path in (run_dir / "checkpoints").iterdir() if path.name.startswith(".tmp")]
        self.assertEqual(left, [], what)
        shutil.rmtree(run_dir)
        shutil.rmtree(run_dir.with_name(run_dir.name + "-trash"))

    def test_no_state_is_lost(self):
        tries = []
        for kind, (options, model) in RUNS.items():
            files = ("metrics.jsonl", "completions.jsonl", f"final/{model}")
            operations = self.operations(kind, options)
            finished = self.finished_checkpoints(operations)
            for place, operation in enumerate(operations, 1):
                for way in WAYS:
                    tries.append((kind, options, files, way, place, operation, finished[place - 1]))
        stride = 1 if STATES == "all" else max(1, len(tries) // int(STATES))
        while stride > 1 and stride % len(WAYS) == 0:
            stride += 1  # each way has its turn
        chosen = tries[::stride]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(self.try_one, *one) for one in chosen]
        errors = [str(future.exception()) for future in futures if future.exception() is not None]
        self.assertEqual(errors, [])
        print(f"{len(chosen)} of {len(tries)} states", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
