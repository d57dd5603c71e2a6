"""Runs that watch their rewards: they stop where rewards fail or an alarm says so, and go on when resumed.

COHORT=build/cohort python3 tests/python/test_watch.py
"""

import json
import re
import unittest

from tiny_run import TinyRunTest

# Fails as long as the file is there.
BREAKABLE = """
import os, zlib
def breakable(prompts, completions, **columns):
    if os.path.exists("FILE"):
        raise RuntimeError("broken")
    return [zlib.crc32((p + c).encode()) % 97 / 97 for p, c in zip(prompts, completions)]
"""


class WatchTest(TinyRunTest):
    def finish(self, name, *more):
        run = self.start(name, *more)
        _, errors = run.communicate()
        return run.returncode, errors

    def lines(self, name, file="metrics.jsonl"):
        return [json.loads(line) for line in (self.folder / name / file).read_text().splitlines()]

    def assert_points_at_a_row(self, name, text):
        """The example that a warning gives is a row of completions.jsonl."""
        place = re.search(r"step (\d+): .*for example sample (\d+) of prompt ([^\s;]*[^\s;.])", text)
        self.assertIsNotNone(place, text)
        key = (int(place[1]), int(place[2]), place[3])
        rows = [
            row
            for row in self.lines(name, "completions.jsonl")
            if (row["step"], row["sample"], row["prompt_id"]) == key
        ]
        self.assertEqual(len(rows), 1)
        return rows[0]

    def test_a_reward_that_breaks_stops_the_run_until_it_is_mended(self):
        broken = self.folder / "broken"
        function = self.folder / "breakable.py"
        function.write_text(BREAKABLE.replace("FILE", str(broken)))
        options = ["--reward.0.function", f"{function}:breakable", "--save-steps", 0]
        options += ["--failed-share-window", 32]
        broken.touch()
        status, errors = self.finish("run", *options)
        self.assertEqual(status, 2, errors)
        self.assertRegex(errors, "reward hash failed on all 16 trial completions: .*RuntimeError: broken")
        options += ["--train.preflight", "false"]
        status, errors = self.finish("run", *options)
        self.assertEqual(status, 2, errors)
        self.assertRegex(errors, "step 2: reward hash failed on 32 of its last 32 completions, where ")
        self.assertRegex(errors, r"max_failed_share = 0.5 allows 16 of 32; the last one: error, .*--resume")
        self.assertEqual([row["rewards/hash/error"] for row in self.lines("run")], [16, 16])
        self.assertIsNone(self.lines("run")[0]["rewards/hash/mean"])
        self.assertIsNone(self.lines("run")[0]["reward"])
        self.assertTrue((self.folder / "run/checkpoints/step-00000002").exists())

        status, errors = self.finish("run", *options, "--resume")  # not mended
        self.assertEqual(status, 2, errors)
        self.assertIn("step 4: ", errors)
        broken.unlink()
        status, errors = self.finish("run", *options, "--resume")
        self.assertEqual(status, 0, errors)
        self.assertEqual([row["rewards/hash/error"] for row in self.lines("run")], [16] * 4 + [0] * 8)
        self.assertEqual(self.lines("run")[-1]["step"], 12)

    def test_weights_follow_their_schedule(self):
        status, errors = self.finish("run", "--reward.0.weight_at", "3=0.5", "--reward.0.weight_at", "7=2.5")
        self.assertEqual(status, 0, errors)
        weights = [row["rewards/hash/weight"] for row in self.lines("run")]
        self.assertEqual(weights, [0.5, 0.5, 0.5, 1.0, 1.5, 2.0] + [2.5] * 6)
        for row in self.lines("run", "completions.jsonl"):
            expected = weights[row["step"] - 1] * row["rewards"]["hash"]["score"]
            self.assertAlmostEqual(row["reward"], expected, delta=1e-12)

    def test_an_alarm_stops_the_run_and_points_at_a_completion(self):
        options = ["--monitor.0.metric", "completions/clipped_ratio", "--monitor.0.name", "cut"]
        options += ["--monitor.0.above", 0.5, "--monitor.0.window", 2, "--monitor.0.action", "stop"]
        for step in (2, 4):
            status, errors = self.finish("run", *options, *(["--resume"] if step > 2 else []))
            self.assertEqual(status, 2, errors)
            self.assertIn(f"step {step}: monitor cut: completions/clipped_ratio is ", errors)
            row = self.assert_points_at_a_row("run", errors)
            self.assertEqual((row["step"], row["finish_reason"]), (step, "length"))
            self.assertEqual([row["monitor/cut/alarm"] for row in self.lines("run")], [0, 1] * (step // 2))

    def test_an_alarm_takes_the_loss_off_what_it_concerns(self):
        options = ["--monitor.0.metric", "completions/clipped_ratio", "--monitor.0.action", "mask"]
        options += ["--monitor.0.above", 0.5, "--monitor.0.window", 3, "--max-steps", 6]
        status, errors = self.finish("run", *options)
        self.assertEqual(status, 0, errors)
        warnings = [line for line in errors.splitlines() if "warning: step" in line]
        self.assertEqual(len(warnings), 2, errors)  # steps 3 and 6
        self.assert_points_at_a_row("run", warnings[1])
        rows = self.lines("run", "completions.jsonl")
        for metrics in self.lines("run"):
            step = metrics["step"]
            cut = [row for row in rows if row["step"] == step and row["finish_reason"] == "length"]
            masked = [row for row in rows if row["step"] == step and row.get("masked")]
            self.assertEqual(masked, cut if step >= 3 else [])
            self.assertEqual(metrics["monitor/completions/clipped_ratio/masked"], len(masked))
            self.assertTrue(all(row["advantage"] == 0 for row in masked))
            if step >= 3:  # what is left is judged among itself
                for first in range(0, 16, 4):
                    group = [row for row in rows if row["step"] == step][first : first + 4]
                    kept = [row["advantage"] for row in group if not row.get("masked")]
                    self.assertAlmostEqual(sum(kept), 0, places=9)
            self.assertIsNotNone(metrics["reward"])
        self.assertTrue(any(row.get("masked") for row in rows))

    def test_a_checker_shows_the_gap(self):
        with self.recipe.open("a") as recipe:
            recipe.write("""
                [[reward]]
                name = "truth"
                type = "tag_count"
                weight = 0
                checks = "hash"
            """)
        status, errors = self.finish("run", "--max-steps", 2)
        self.assertEqual(status, 0, errors)
        rows = self.lines("run", "completions.jsonl")
        for metrics in self.lines("run"):
            scores = [row["rewards"] for row in rows if row["step"] == metrics["step"]]
            gaps = [cells["hash"]["score"] - cells["truth"]["score"] for cells in scores]
            self.assertAlmostEqual(metrics["rewards/truth/gap"], sum(gaps) / len(gaps), places=12)
            self.assertAlmostEqual(metrics["rewards/hash/correlation"], 1, places=12)

    def test_a_metric_that_is_none_is_refused_before_the_run_begins(self):
        status, errors = self.finish("run", "--monitor.0.metric", "rewards/hsh/mean", "--monitor.0.above", 1)
        self.assertEqual(status, 2, errors)
        self.assertIn('did you mean "rewards/hash/mean"', errors)
        self.assertFalse((self.folder / "run").exists())

    def test_timings_say_when_rewards_worked(self):
        status, errors = self.finish("run", "--max-steps", 2)
        self.assertEqual(status, 0, errors)
        for row in self.lines("run", "timings.jsonl"):
            self.assertGreater(row["timing_s/reward_beside_gen"] + row["timing_s/reward_after_gen"], 0)
            self.assertLessEqual(row["timing_s/reward/hash/p50"], row["timing_s/reward/hash/p90"])
            self.assertLessEqual(row["timing_s/reward/hash/p90"], row["timing_s/reward/hash/p99"])


if __name__ == "__main__":
    unittest.main()
