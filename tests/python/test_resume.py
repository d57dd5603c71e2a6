"""A run killed at random instants and resumed leaves the same bytes as one that was never killed.

COHORT=build/cohort python3 tests/python/test_resume.py [KILLS]
"""

import random
import signal
import sys
import time
import unittest

from tiny_run import TinyRunTest

NUM_KILLS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20
RECORDS = ["metrics.jsonl", "completions.jsonl", "final/model.safetensors", "final/config.json"]


class ResumeTest(TinyRunTest):
    # A schedule and an alarm, too: the state of both must survive.
    REWARDS = (
        TinyRunTest.REWARDS
        + """
        [[reward]]
        name = "tags"
        type = "tag_count"
        weight_at = {2 = 0.0, 9 = 1.5}
        [[reward]]
        name = "truth"
        type = "format"
        weight = 0
        checks = "hash"
        [[monitor]]
        metric = "rewards/truth/gap"
        above = 0.3
        window = 3
        action = "mask"
    """
    )

    def test_killed_runs_leave_the_same_bytes(self):
        begun = time.monotonic()
        unbroken = self.start("unbroken")
        _, errors = unbroken.communicate()
        self.assertEqual(unbroken.returncode, 0, errors)
        seconds = time.monotonic() - begun
        expected = {record: (self.folder / "unbroken" / record).read_bytes() for record in RECORDS}

        generator = random.Random(5)
        kills = inside_checkpoint = round_number = 0
        while kills < NUM_KILLS:
            name = f"killed-{round_number}"
            round_number += 1
            finished = False
            while not finished:
                run = self.start(name, "--resume")
                # Every other kill aims at a checkpoint under way.
                deadline = time.monotonic() + generator.uniform(0.1, 1.0) * seconds
                aims_at_checkpoint = kills % 2 == 1
                temporary = self.folder / name / "checkpoints"
                while run.poll() is None and kills < NUM_KILLS:
                    is_writing = any(temporary.glob(".tmp-*")) if temporary.exists() else False
                    if time.monotonic() > deadline and (is_writing or not aims_at_checkpoint):
                        run.send_signal(signal.SIGKILL)
                        kills += 1
                        inside_checkpoint += is_writing
                        break
                    if time.monotonic() > deadline + seconds:
                        break
                    time.sleep(0.0002)
                _, errors = run.communicate()
                finished = run.returncode == 0
                self.assertIn(run.returncode, (0, -signal.SIGKILL), errors)
            for record, content in expected.items():
                self.assertEqual((self.folder / name / record).read_bytes(), content, f"{name}/{record}")
        self.assertIn(b'"masked":true', expected["completions.jsonl"])
        print(
            f"{kills} kills over {round_number} runs, {inside_checkpoint} inside a checkpoint's writing",
            file=sys.stderr,
        )

    def test_a_signal_ends_the_run_after_a_checkpoint(self):
        self.stop_and_resume()

    def test_what_moves_beside_the_weights_goes_on(self):
        options = ["--use-adaptive-entropy", "--entropy-target=99", "--beta=0.1", "--use-adaptive-beta"]
        options += ["--kl-horizon=64", "--sync-ref-model", "--ref-model-sync-steps=3"]
        self.stop_and_resume("--objective.preset=lambda_grpo", *options)

    def stop_and_resume(self, *options):
        reference = self.start("reference", *options)
        reference.communicate()
        run = self.start("stopped", *options)
        while not (self.folder / "stopped/checkpoints/step-00000002").exists():
            self.assertIsNone(run.poll())
            time.sleep(0.001)
        run.send_signal(signal.SIGTERM)
        _, errors = run.communicate()
        self.assertEqual(run.returncode, 128 + signal.SIGTERM, errors)
        resumed = self.start("stopped", "--resume", *options)
        _, errors = resumed.communicate()
        self.assertEqual(resumed.returncode, 0, errors)
        for record in RECORDS:
            content = (self.folder / "stopped" / record).read_bytes()
            self.assertEqual(content, (self.folder / "reference" / record).read_bytes(), record)


if __name__ == "__main__":
    unittest.main()
