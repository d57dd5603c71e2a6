"""Every write, sync, rename and deletion of a run fails once, or the power is cut there: the run ends with one line, and
resumed, it writes the bytes of a run that nothing happened to. No checkpoint that was finished is lost. With several
processes it happens to one of them, and one process resumes.

COHORT=build/cohort FILE_FAULTS=build/tests/libfile_faults.so python3 tests/cli/test_file_faults.py [states]

Without a number a few hundred states are tried, evenly spread; `all` tries each.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from cli_case import PROGRAM, setUpModule  # noqa: F401
from run_case import RunsTest
from test_processes import free_port

SHIM = pathlib.Path(os.environ["FILE_FAULTS"]).resolve()
MONITOR = """
[[monitor]]
metric = "reward"
drop = 0.2
window = 1
action = "rollback"
"""
STATES = sys.argv.pop(1) if len(sys.argv) > 1 else "200"
WAYS = ("enospc", "eio", "kill", "cut", "torn")
LOST = 75  # exit code of a process that has lost another one


@dataclasses.dataclass
class Kind:
    """A run with files of some kind, on `size` processes; `tables` are appended to its recipe."""

    options: tuple = ()
    model: str = "model.safetensors"  # the file of `final` that is compared
    size: int = 1
    tables: str = ""


KINDS = {
    "plain": Kind(),
    "adapter": Kind(("--lora.r", 2), "adapter_model.safetensors"),
    "critic": Kind(("--objective.preset", "ppo", "--save-total-limit", 2)),
    "evaluated": Kind(("--data.test-split-size", 0.3, "--eval-steps", 1, "--save-batches", "true")),
    "rollback": Kind(("--train.max-rollbacks", 9, "--save-batches", "true"), tables=MONITOR),
    "two": Kind(("--dist.gradient-slots", 2), size=2),
}


@dataclasses.dataclass
class Operation:
    """What rank `rank` of a run does to a file, its `place`th; `finished` is the newest checkpoint that was on the disk
    for good before it."""

    rank: int
    place: int
    what: str
    path: str
    finished: int = 0


def set_finished(operations):
    """Of the operations of rank 0, which gives checkpoints their names; others work for the one after the last."""
    there, renamed = {0}, set()
    for one in operations:
        number = re.search(r"step-(\d+)", one.path)
        if one.rank > 0:
            one.finished = int(number[1]) - 1 if number else 0
            continue
        one.finished = max(there)
        if one.what == "rename" and re.fullmatch(r"/checkpoints/step-\d+", one.path):
            renamed.add(int(number[1]))
        if one.what == "rename" and one.path.startswith("/checkpoints/.trash-"):
            there.discard(int(number[1]))
        if one.what == "sync" and one.path == "/checkpoints":
            there |= renamed
            renamed = set()


class FileFaultsTest(RunsTest):
    def setUp(self):
        super().setUp()
        text = self.recipe.read_text()
        reward = text[text.index("[[reward]]") : text.index("[optimizer]")]
        text = text.replace(reward, '[[reward]]\nname = "letters"\ntype = "regex"\npattern = "[a-m]"\n')
        text = text.replace("save_steps = 2", "save_steps = 1\npreflight = false")
        for name, kind in KINDS.items():
            (self.place / f"{name}.toml").write_text(text + kind.tables)

    def train_kind(self, name, run_dir, *more, size=1, environments=None):
        """Exit codes and standard errors of a run's processes; `environments`: by rank."""
        arguments = self.arguments("train", self.place / f"{name}.toml", run_dir, *KINDS[name].options, *more)
        port = free_port() if size > 1 else 0
        processes = []
        for rank in range(size):
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
            environment = {"MASTER_ADDR": "127.0.0.1", **place} if size > 1 else {}
            environment = {**environment, **(environments or {}).get(rank, {})}
            processes.append(
                subprocess.Popen(
                    [PROGRAM, *map(str, arguments)],
                    env={**os.environ, **{key: str(value) for key, value in environment.items()}},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        errors = [process.communicate(timeout=120)[1] for process in processes]
        return [process.returncode for process in processes], errors

    @staticmethod
    def faults(run_dir, **settings):
        trash = run_dir.with_name(run_dir.name + "-trash")
        trash.mkdir(exist_ok=True)
        given = {f"FILE_FAULTS_{name}": value for name, value in settings.items()}
        return {"FILE_FAULTS_UNDER": run_dir, "FILE_FAULTS_TRASH": trash, "LD_PRELOAD": SHIM, **given}

    def operations(self, name):
        """What the processes of a run without a fault do."""
        run_dir, size = self.place / name, KINDS[name].size
        logs = [self.place / f"{name}-{rank}.log" for rank in range(size)]
        environments = {rank: self.faults(run_dir, LOG=log) for rank, log in enumerate(logs)}
        codes, errors = self.train_kind(name, run_dir, size=size, environments=environments)
        self.assertEqual(codes, [0] * size, errors)
        result = []
        for rank, log in enumerate(logs):
            for place, line in enumerate(log.read_text().splitlines(), 1):
                number, what, path = line.split(" ", 2)
                self.assertEqual(int(number), place)
                result.append(Operation(rank, place, what, path.removeprefix(str(run_dir))))
        set_finished(result)
        return result

    def try_one(self, name, way, operation):
        size, rank = KINDS[name].size, operation.rank
        run_dir = self.place / f"{name}-{rank}-{way}-{operation.place}"
        what = f"{name}, {way}: {operation}"
        faults = {rank: self.faults(run_dir, AT=operation.place, HOW=way)}
        codes, errors = self.train_kind(name, run_dir, size=size, environments=faults)
        if way in ("enospc", "eio"):
            self.assertIn(codes[rank], (0, 2), f"{what}: {errors}")
            if codes[rank] == 2:
                last = errors[rank].splitlines()[-1]
                self.assertRegex(last, r"\Acohort: .", what)
                self.assertIn({"enospc": "No space left", "eio": "Input/output error"}[way], last, what)
        else:
            self.assertEqual(codes[rank], 137, f"{what}: {errors}")
        for other in set(range(size)) - {rank}:
            self.assertEqual(codes[other], 0 if codes[rank] == 0 else LOST, f"{what}: {errors}")
        checkpoints = [int(path.name[5:]) for path in (run_dir / "checkpoints").glob("step-*")]
        self.assertGreaterEqual(max(checkpoints, default=0), operation.finished, what)
        codes, errors = self.train_kind(name, run_dir, "--resume")
        self.assertEqual(codes, [0], f"{what}: {errors}")
        for file in ("metrics.jsonl", "completions.jsonl", "completions.index", f"final/{KINDS[name].model}"):
            self.assertEqual(
                (run_dir / file).read_bytes(), (self.place / name / file).read_bytes(), f"{what}: {file}"
            )
        left = [path.name for path in (run_dir / "checkpoints").iterdir() if path.name.startswith(".")]
        self.assertEqual(left, [], what)
        shutil.rmtree(run_dir)
        shutil.rmtree(run_dir.with_name(run_dir.name + "-trash"))

    def test_no_state_is_lost(self):
        operations = [(name, one) for name in KINDS for one in self.operations(name)]
        self.assertTrue((self.place / "rollback/rollbacks.jsonl").exists())
        possible = len(operations) * len(WAYS)
        count = possible if STATES == "all" else min(int(STATES), possible)
        chosen = []
        for place in range(
            count
        ):  # neighbours in `chosen` fail at the same operation, or the next one, in other ways
            name, one = operations[place * len(operations) // count]
            chosen.append((name, WAYS[place % len(WAYS)], one))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:  # some wait for each other
            futures = [pool.submit(self.try_one, *one) for one in chosen]
        errors = [str(future.exception()) for future in futures if future.exception() is not None]
        self.assertEqual(errors, [])
        print(f"{count} of {possible} states", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
