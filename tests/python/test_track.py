"""`cohort track`: what each tracker holds equals the run's files, read by the tracker's own package.

.venv-test/bin/python tests/python/own_environment.py trackers test_track.py --alone wandb==0.31.0 trackio==0.43.0 \
    mlflow==3.17.2 comet_ml==3.58.8 zstandard==0.25.0
"""

import pathlib
import signal
import tempfile
import threading
import time
import unittest

import track_run
from track_readers import READERS
from track_run import (
    COLUMNS,
    FLAT,
    SETTINGS,
    TestRun,
    figures_of,
    metrics_of,
    start,
    table_row,
    timings_of,
    track,
)


def as_text(rows):
    """As CSV has them."""
    return [["" if value is None else str(value) for value in row] for row in rows]


class TrackerCase:
    """The same for every tracker."""

    is_flat = False  # settings have names such as train.max_steps, and text as values
    keeps_cells = True  # a table's cells have types

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cohort-track-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_files = TestRun(self.folder / "run")

    def track(self, *arguments, **options):
        return track(self.folder, "run", "--to", self.to, *arguments, **options)

    def read(self):
        return READERS[self.to](self.folder)

    def same_table(self, tracked, step, rows):
        for columns, found in tracked.tables[step]:
            self.assertEqual(columns, COLUMNS)
            self.assertEqual(found, rows if self.keeps_cells else as_text(rows))

    def same_points(self, found, wanted):
        def key(point):
            return point[0], sorted(point[1].items())

        self.assertEqual(sorted(found, key=key), sorted(wanted, key=key))

    def test_a_finished_run(self):
        self.run_files.add_steps(1, 10)
        before = self.run_files.files()
        flags = ("--group", "seeds", "--tag", "first", "--name", "tiny", "--completions", 2)
        lines = self.track(*flags, "--completions-every", 5)
        end = "project cohort, name tiny; the run is finished"
        self.assertEqual(lines, [f"cohort: sent 10 steps and 4 completions of run to {self.to}, {end}"])
        self.assertEqual(self.run_files.files(), before)
        tracked = self.read()
        self.same_points(tracked.points, [(step, figures_of(step)) for step in range(1, 11)])
        self.assertEqual(tracked.config, FLAT if self.is_flat else SETTINGS)
        self.assertEqual((tracked.name, tracked.group), ("tiny", "seeds"))
        self.assertEqual(sorted(tracked.tags), ["cohort", "first"])
        self.assertEqual(sorted(tracked.tables), [5, 10])
        for step in (5, 10):
            self.same_table(tracked, step, [table_row(step, 0), table_row(step, 1)])
        summary = figures_of(10) | {"status": "finished", "last_step": 10, "rollbacks": 0}
        self.assertEqual({key: tracked.summary[key] for key in summary}, summary)

    def test_another_start_goes_on_and_sends_nothing_twice(self):
        self.run_files.add_steps(1, 4)
        self.assertIn("sent 4 steps and 0 completions", self.track()[-1])
        self.assertIn("the run is stopped: run the command again", self.track()[-1])
        self.run_files.add_steps(5, 10)
        self.assertIn("sent 6 steps and 3 completions", self.track()[-1])
        self.assertIn("sent 0 steps", self.track()[-1])
        tracked = self.read()
        self.same_points(tracked.points, [(step, figures_of(step)) for step in range(1, 11)])
        self.assertEqual(len(tracked.ids), 1)
        self.same_table(tracked, 10, [table_row(10, sample) for sample in range(3)])
        self.assertEqual(tracked.summary["status"], "finished")

    def test_a_run_that_went_back_is_sent_again_from_there(self):
        self.run_files.add_steps(1, 10)
        self.track("--completions-every", 5)
        self.run_files.cut_after(6)
        self.run_files.add_steps(7, 10, branch=100)
        self.run_files.append("rollbacks.jsonl", {"rollback": 1, "step": 10, "to_step": 6, "reason": "drop"})
        lines = self.track("--completions-every", 5)
        went_back = (
            f"cohort: the run went back: from step 7 on, {self.to} has the left values and the new ones"
        )
        self.assertEqual(lines[:-1], [went_back])
        tracked = self.read()
        wanted = [(step, figures_of(step)) for step in range(1, 11)]
        self.same_points(tracked.points, wanted + [(step, figures_of(step, 100)) for step in range(7, 11)])
        newest = tracked.tables[10][-1][1]
        rows = [table_row(10, sample, branch=100) for sample in range(3)]
        self.assertEqual(newest, rows if self.keeps_cells else as_text(rows))
        self.assertEqual(
            (tracked.summary["rollbacks"], tracked.summary["reward"]), (1, figures_of(10, 100)["reward"])
        )
        self.assertEqual(tracked.places, sorted(set(tracked.places)))

    def test_it_follows_a_run_that_goes_on(self):
        def write():
            run = self.run_files
            for step in range(1, 11):
                line = track_run.json.dumps({"step": step} | metrics_of(step)) + "\n"
                if step % 2 == 0:  # the other file first
                    run.append("timings.jsonl", {"step": step} | timings_of(step))
                with open(run.root / "metrics.jsonl", "a") as file:
                    for part in (line[:9], line[9:-1], line[-1:]):
                        file.write(part)
                        file.flush()
                        time.sleep(0.03)
                if step % 2 == 1:
                    run.append("timings.jsonl", {"step": step} | timings_of(step))
                time.sleep(0.1)

        writer = threading.Thread(target=write)
        with self.run_files.lock():
            process = start(self.folder, "run", "--to", self.to, "--interval", 0.02)
            writer.start()
            writer.join()
            time.sleep(0.3)
            self.assertIsNone(process.poll())
        errors = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, errors)
        self.same_points(self.read().points, [(step, figures_of(step)) for step in range(1, 11)])

    def test_a_signal_ends_it_and_the_next_start_goes_on(self):
        self.run_files.add_steps(1, 5)
        with self.run_files.lock():
            process = start(self.folder, "run", "--to", self.to, "--interval", 0.05)
            self.wait_for_step(5)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.run_files.add_steps(6, 10)
        self.track()
        tracked = self.read()
        self.same_points(tracked.points, [(step, figures_of(step)) for step in range(1, 11)])
        self.assertEqual((len(tracked.ids), tracked.summary["status"]), (1, "finished"))

    def test_settings_that_a_resume_changed(self):
        with self.run_files.lock():
            process = start(self.folder, "run", "--to", self.to, "--interval", 0.05)
            self.run_files.add_steps(1, 4)
            self.wait_for_step(4)
            time.sleep(2)  # Trackio writes what it has every half second
            self.change_max_steps(10, 11)
            self.run_files.add_steps(5, 5)
            self.wait_for_step(5)
        self.assertEqual(process.communicate(timeout=60) and process.returncode, 0)
        self.check_max_steps(self.read(), 11)
        self.change_max_steps(11, 12)
        self.run_files.add_steps(6, 6)
        self.track()
        self.check_max_steps(self.read(), 12)

    def change_max_steps(self, before, now):
        new = self.folder / "new.toml"
        new.write_text(
            (self.run_files.root / "config.toml").read_text().replace(f"steps = {before}", f"steps = {now}")
        )
        new.rename(self.run_files.root / "config.toml")

    def wait_for_step(self, step):
        journal = self.run_files.root / f".track-{self.to}.jsonl"
        deadline = time.monotonic() + 60
        while not (journal.exists() and f'"step": {step},' in journal.read_text()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def check_max_steps(self, tracked, wanted):
        self.assertEqual(tracked.config["train"]["max_steps"], wanted)


class WandbTest(TrackerCase, unittest.TestCase):
    to = "wandb"

    def test_a_login_that_is_missing_ends_with_one_line(self):
        self.run_files.add_steps(1, 4)
        (line,) = self.track(code=2, WANDB_MODE="online")
        self.assertRegex(
            line, "^cohort: wandb: UsageError: No API key configured.*run the command again to go on$"
        )
        self.assertIn("sent 4 steps", self.track()[-1])


class TrackioTest(TrackerCase, unittest.TestCase):
    to = "trackio"

    def test_a_name_that_another_run_has_taken(self):
        self.run_files.add_steps(1, 4)
        self.track()
        TestRun(self.folder / "other").add_steps(1, 10)
        track(self.folder, "other", "--to", "trackio", "--name", "run")
        self.run_files.add_steps(5, 10)
        (line,) = self.track(code=2)
        self.assertIn("a newer one of this name", line)


class MlflowTest(TrackerCase, unittest.TestCase):
    to = "mlflow"
    is_flat = True

    def check_max_steps(self, tracked, wanted):
        self.assertEqual(tracked.config["train.max_steps"], "10")  # a parameter is for good
        self.assertEqual(tracked.files["config.json"]["train"]["max_steps"], wanted)

    def test_another_server_is_refused(self):
        self.run_files.add_steps(1, 4)
        self.track()
        self.run_files.add_steps(5, 6)
        (line,) = self.track(code=2, MLFLOW_TRACKING_URI=f"sqlite:///{self.folder}/other.db")
        self.assertRegex(
            line, "other.db has no run .*; set MLFLOW_TRACKING_URI, or delete .track-mlflow.jsonl"
        )

    def test_a_server_that_is_away_ends_with_one_line(self):
        self.run_files.add_steps(1, 4)
        away = {"MLFLOW_TRACKING_URI": "http://127.0.0.1:1", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
        (line,) = self.track(code=2, **away)
        self.assertRegex(line, "^cohort: mlflow: MlflowException: .*run the command again to go on$")


class CometTest(TrackerCase, unittest.TestCase):
    to = "comet"
    is_flat = True
    keeps_cells = False

    def check_max_steps(self, tracked, wanted):
        self.assertEqual(tracked.config["train.max_steps"], str(wanted))


if __name__ == "__main__":
    unittest.main()
