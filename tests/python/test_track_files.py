"""`cohort track` without a tracker: what is read and sent, when it ends, and what is refused.

.venv-test/bin/python tests/python/test_track_files.py
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import track_run
from track_run import COLUMNS, ROOT, TestRun, completion, figures_of, metrics_of, table_row, timings_of, track

sys.path.insert(0, str(ROOT / "python"))
from cohort.track import completions  # noqa: E402
from cohort.track.journal import Journal  # noqa: E402
from cohort.track.run_files import RunFiles  # noqa: E402
from cohort.track.session import Options, Session  # noqa: E402
from cohort.track.tracker import TrackerError  # noqa: E402


class Memory:
    """A tracker that fails as often as `failures` says."""

    def __init__(self, failures=0):
        self.failures, self.points, self.tables, self.ended, self.configs = failures, [], [], None, []

    def begin(self, run):
        self.configs.append(run.config)
        return run.id

    def configure(self, config):
        self.configs.append(config)

    def table(self, step, columns, rows):
        self.tables.append((step, columns, rows))

    def log(self, step, position, figures):
        if self.failures > 0:
            self.failures -= 1
            raise ConnectionError("no route\nto host\x1b[2J")
        self.points.append((step, position, figures))

    def end(self, status, summary):
        self.ended = status, summary


class SessionCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cohort-track-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_files = TestRun(self.folder / "run")
        self.root = self.run_files.root
        self.said = []
        self.last_journal = None

    def session(self, tracker, **options):
        options = Options(**{"interval_s": 0.01, "pause_s": 0.001, "completions_every": 1} | options)
        return Session(RunFiles(self.root), tracker, "memory", self.journal(), options, self.said.append)

    def journal(self):
        """The run's, as a new process reads it."""
        if self.last_journal:
            self.last_journal.close()
        self.last_journal = Journal(self.root, "memory")
        self.addCleanup(self.last_journal.close)
        return self.last_journal

    def send(self, **options):
        tracker = Memory()
        self.session(tracker, **options).run()
        return tracker


class FiguresTest(SessionCase):
    def test_a_step_waits_for_both_of_its_lines(self):
        self.run_files.append("metrics.jsonl", {"step": 0, "eval_reward": 0.5})  # has no times
        self.run_files.add_steps(1, 2)
        self.run_files.append("timings.jsonl", {"step": 3} | timings_of(3))
        with self.run_files.lock():
            tracker = self.send(follow=False)
        wanted = [(0, 0, {"eval_reward": 0.5}), (1, 1, figures_of(1)), (2, 2, figures_of(2))]
        self.assertEqual(tracker.points, wanted)
        self.assertEqual(tracker.ended[0], "running")
        self.run_files.append("metrics.jsonl", {"step": 3} | metrics_of(3))
        self.assertEqual(self.send().points, [(3, 3, figures_of(3))])

    def test_the_last_step_is_sent_with_what_it_has(self):
        self.run_files.append("metrics.jsonl", {"step": 1} | metrics_of(1))
        with open(self.root / "metrics.jsonl", "a") as file:
            file.write('{"step": 2, "rew')  # half-written
        (point,) = self.send().points
        self.assertEqual(point[2], {key: value for key, value in metrics_of(1).items() if value is not None})

    def test_a_long_run(self):
        self.run_files.add_steps(1, 1230, samples=1)
        tracker = self.send()
        self.assertEqual(tracker.points, [(step, step, figures_of(step)) for step in range(1, 1231)])
        self.assertEqual([step for step, _, _ in tracker.tables], list(range(1, 1231)))

    def test_a_resume_sends_only_what_differs(self):
        self.run_files.add_steps(1, 6)
        self.send()
        self.run_files.cut_after(4)
        for step in (5, 6):
            self.run_files.append("metrics.jsonl", {"step": step} | metrics_of(step))
            self.run_files.append("timings.jsonl", {"step": step} | timings_of(step, branch=9))
        self.assertEqual(self.send().points, [(5, 7, timings_of(5, 9)), (6, 8, timings_of(6, 9))])

    def test_it_follows_a_run_that_goes_back(self):
        def write():
            for step in range(1, 9):
                self.run_files.add_steps(step, step)
                time.sleep(0.02)
            self.run_files.cut_after(5)
            for step in range(6, 11):
                self.run_files.add_steps(step, step, branch=100)
                time.sleep(0.02)

        with self.run_files.lock():
            tracker = Memory()
            session = threading.Thread(target=self.session(tracker).run)
            session.start()
            write()
        session.join(30)
        steps = [step for step, _, _ in tracker.points]
        self.assertEqual(steps, [*range(1, 9), *range(6, 11)])
        self.assertEqual([position for _, position, _ in tracker.points], list(range(1, 14)))
        self.assertEqual(tracker.points[-1][2], figures_of(10, 100))
        branches = [rows[0][6] for _, _, rows in tracker.tables]
        self.assertEqual(branches, [0] * 8 + [100] * 5)
        self.assertEqual(tracker.ended[0], "finished")
        self.assertEqual(len(self.said), 1)

    def test_follow_waits_for_a_run_and_over_its_interruptions(self):
        tracker, empty = Memory(), self.folder / "later"
        self.root, filled = empty, self.root
        empty.mkdir()
        session = threading.Thread(target=self.session(tracker, follow=True).run)
        session.start()
        time.sleep(0.05)
        for name in (".lock", "config.toml"):
            (filled / name).rename(empty / name)
        self.run_files.root = empty
        self.run_files.add_steps(1, 3)
        time.sleep(0.2)
        self.assertTrue(session.is_alive())
        self.run_files.add_steps(4, 5)
        (empty / "final").mkdir()  # stopped early
        session.join(30)
        self.assertEqual([step for step, _, _ in tracker.points], [1, 2, 3, 4, 5])
        self.assertEqual(tracker.ended[0], "finished")

    def test_settings_that_change_on_the_way(self):
        self.run_files.add_steps(1, 1)
        with self.run_files.lock():
            tracker = Memory()
            session = threading.Thread(target=self.session(tracker).run)
            session.start()
            time.sleep(0.1)
            new = self.root / "new"
            new.write_text(track_run.CONFIG.replace("seed = 3", "seed = 4"))
            new.rename(self.root / "config.toml")
            self.run_files.add_steps(2, 2)
            time.sleep(0.1)
        session.join(30)
        self.assertEqual([config["seed"] for config in tracker.configs], [3, 4])

    def test_calls_that_fail_are_tried_again(self):
        self.run_files.add_steps(1, 3)
        tracker = Memory(failures=2)
        self.session(tracker).run()
        self.assertEqual([step for step, _, _ in tracker.points], [1, 2, 3])
        self.assertEqual(len(tracker.tables), 3)
        self.assertEqual(
            self.said[0], "memory: ConnectionError: no route to host\ufffd[2J; tries again in 0.001 s"
        )

    def test_a_tracker_that_stays_away_ends_it_and_nothing_is_lost(self):
        self.run_files.add_steps(1, 3)
        with self.assertRaisesRegex(
            TrackerError, "^memory: ConnectionError: .*; run the command again to go on$"
        ):
            self.session(Memory(failures=99)).run()
        self.assertEqual([step for step, _, _ in self.send().points], [1, 2, 3])


class CompletionsTest(SessionCase):
    def test_the_first_completions_of_every_kth_step(self):
        self.run_files.add_steps(1, 7)
        tables = self.send(completions=2, completions_every=3).tables
        self.assertEqual([step for step, _, _ in tables], [3, 6])
        self.assertEqual(tables[0][1:], (COLUMNS, [table_row(3, 0), table_row(3, 1)]))
        self.assertEqual(self.send(completions=0).tables, [])

    def test_hostile_texts(self):
        long = "x" * 10_000_000
        texts = ["a\0b", "\ud800 alone", long, "<script>alert(1)</script>\x1b[2J\u202e"]
        self.run_files.append("completions.jsonl", *(completion(1, i, text) for i, text in enumerate(texts)))
        self.run_files.append("metrics.jsonl", {"step": 1, "reward": 1})
        ((_, columns, rows),) = self.send().tables
        cells = [row[columns.index("completion")] for row in rows]
        cut = "x" * 10_000 + "… [cut: 10000000 characters]"
        self.assertEqual(cells, ["a\u2400b", "\ufffd alone", cut, texts[3]])

    def test_lines_that_were_moved_into_compressed_files(self):
        import zstandard

        self.run_files.add_steps(1, 6)
        folder = self.root / "completions"
        folder.mkdir()
        lines = (self.root / "completions.jsonl").read_bytes().splitlines(keepends=True)
        for first, last in ((1, 2), (3, 4)):
            part = b"".join(lines[3 * (first - 1) : 3 * last])
            frames = [zstandard.compress(part[:100]), zstandard.compress(part[100:])]
            (folder / f"{first:08d}.jsonl.zst").write_bytes(b"".join(frames))
        (self.root / "completions.jsonl").write_bytes(b"".join(lines[12:]))
        tables = self.send().tables
        self.assertEqual(
            [rows for _, _, rows in tables], [[table_row(s, i) for i in range(3)] for s in range(1, 7)]
        )

    def test_a_file_that_was_replaced_is_read_from_its_beginning(self):
        self.run_files.add_steps(4, 6)
        reader = completions.CompletionReader(self.root, self.said.append)
        self.assertEqual(len(reader.lines(4, 9)), 3)
        self.run_files.cut_after(5)
        path = self.root / "completions.jsonl"
        newer = path.read_bytes()
        path.unlink()
        self.run_files.append(path.name, *(completion(3, i, "longer than the others") for i in range(4)))
        path.write_bytes(path.read_bytes() + newer)  # a rollback has taken older lines back
        self.run_files.add_steps(6, 6, branch=1)
        lines = reader.lines(6, 9)
        self.assertEqual(completions.table(lines)[1], [table_row(6, i, branch=1) for i in range(3)])

    def test_two_policies(self):
        rows = [{**completion(1, 0), "policy": "attacker"}, completion(1, 1)]
        columns, cells = completions.table([json.dumps(row).encode() for row in rows])
        self.assertEqual(columns, [COLUMNS[0], "policy", *COLUMNS[1:]])
        self.assertEqual([row[1] for row in cells], ["attacker", None])

    def test_deleted_files_leave_no_table(self):
        self.run_files.add_steps(1, 4)
        (self.root / "completions.jsonl").unlink()
        self.assertEqual(self.send().tables, [])


class RefusedTest(SessionCase):
    def refused(self, *arguments, **options):
        (line,) = track(self.folder, *arguments, code=2, **options)
        return line

    def test_a_package_that_is_missing(self):
        self.run_files.add_steps(1, 1)
        packages = {"wandb": "wandb", "trackio": "trackio", "mlflow": "mlflow", "comet": "comet_ml"}
        for to, package in packages.items():
            line = self.refused("run", "--to", to, python=(sys.executable, "-S"))
            self.assertEqual(line, f"cohort: {package} is not installed: run `pip install {package}`")
        self.assertEqual(list(self.root.glob(".track-*")), [])

    def test_wrong_input_is_one_line(self):
        for arguments, message in [
            (("run",), "the following arguments are required: --to"),
            (("run", "--to", "w"), "argument --to: invalid choice: 'w'"),
            (("nowhere", "--to", "wandb"), "nowhere: holds no run; with --follow the command waits for it"),
            (
                ("run", "--to", "wandb", "--completions", "-1"),
                "--completions: must be a whole number of at least 0",
            ),
            (("run", "--to", "wandb", "--interval", "0"), "--interval: must be above 0"),
        ]:
            self.assertIn(message, self.refused(*arguments))

    def test_a_journal_belongs_to_one_process_and_one_name(self):
        self.run_files.add_steps(1, 1)
        self.send(project="first")
        with self.assertRaisesRegex(ValueError, "--project other: the run was sent as 'first' before"):
            self.run_files.add_steps(2, 2)
            self.send(project="other")
        self.journal()
        with self.assertRaisesRegex(OSError, "another `cohort track` sends this run"):
            Journal(self.root, "memory")
        self.last_journal.close()
        path = self.root / ".track-memory.jsonl"
        path.write_bytes(path.read_bytes() + b'{"step": 2, "posi')
        self.assertEqual([step for step, _, _ in self.send().points], [2])
        self.assertEqual(self.send().points, [])
        self.last_journal.close()
        with self.assertRaisesRegex(ValueError, "--project other"):  # although nothing is left to send
            self.send(project="other")
        self.last_journal.close()
        path.write_text("[]\n")
        with self.assertRaisesRegex(ValueError, "is damaged; delete it"):
            Journal(self.root, "memory")

    def test_a_damaged_line_is_named(self):
        self.run_files.append("metrics.jsonl", {"step": 1}, {"reward": 1})
        with self.assertRaisesRegex(ValueError, "metrics.jsonl: new line 2: is no JSON object with a step"):
            self.send()

    def test_the_run_is_left_alone(self):
        self.run_files.add_steps(1, 10)
        before = self.run_files.files()
        self.send()
        self.assertEqual(self.run_files.files(), before)
        lock = subprocess.run(["flock", "-n", self.root / ".lock", "true"])
        self.assertEqual(lock.returncode, 0)


if __name__ == "__main__":
    unittest.main()
