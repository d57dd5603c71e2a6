"""Which completions are trained on: the settings that choose among those that are drawn, from outside.

COHORT=build/cohort python3 tests/python/test_sampling.py
"""

import json
import signal
import time
import unittest

from tiny_run import TinyRunTest

# Right or wrong by chance, so that many groups have no difference.
REWARD = """
import zlib
def hashed(prompts, completions, **columns):
    return [float(zlib.crc32((p + c).encode()) % 97 < 12) for p, c in zip(prompts, completions)]
"""


class SamplingTest(TinyRunTest):
    def setUp(self):
        super().setUp()
        (self.folder / "reward.py").write_text(REWARD)

    def train(self, name, *more):
        steps = [] if any("max-steps" in option for option in more) else ["--max-steps=4"]
        run = self.start(name, "--save-steps=0", *steps, *more)
        _, errors = run.communicate()
        self.assertEqual(run.returncode, 0, errors)
        return self.lines(name, "metrics.jsonl")

    def lines(self, name, file):
        return [json.loads(line) for line in (self.folder / name / file).read_text().splitlines()]

    def rows(self, name, step):
        rows = [row for row in self.lines(name, "completions.jsonl") if row["step"] == step]
        return [r for r in rows if "untrained" not in r], [r for r in rows if "untrained" in r]

    def test_groups_without_difference_are_replaced(self):
        metrics = self.train("dynamic", "--dynamic-sampling")
        self.assertTrue(any(line["rollout/prompts"] > 4 for line in metrics))
        for line in metrics:
            self.assertEqual(line["frac_reward_zero_std"], line["rollout/filled"] / 4)
            trained, others = self.rows("dynamic", line["step"])
            self.assertEqual(len(trained), 16)
            self.assertEqual(len(trained) + len(others), line["rollout/completions"])
            thrown_away = [row["untrained"] for row in others]
            self.assertEqual(thrown_away.count("no_difference"), 4 * line["rollout/no_difference"])
            self.assertEqual(thrown_away.count("surplus"), 4 * line["rollout/surplus"])
        # Step 1 draws the same prompts first, at the same addresses.
        self.train("plain")
        plain = {(r["prompt_id"], r["sample"]): r["completion_ids"] for r in self.rows("plain", 1)[0]}
        drawn = {(r["prompt_id"], r["sample"]): r["completion_ids"] for r in sum(self.rows("dynamic", 1), [])}
        self.assertLess(plain.items(), drawn.items())

    def test_one_batch_is_plain_grpo(self):
        self.train("plain")
        self.train("bounded", "--dynamic-sampling", "--max-num-gen-batches=1")
        for file in ("completions.jsonl", "final/model.safetensors"):
            contents = [(self.folder / name / file).read_bytes() for name in ("plain", "bounded")]
            self.assertEqual(*contents, file)

    def test_prompts_are_sampled_until_they_have_enough(self):
        options = ["--adaptive-sampling=balanced", "--keep-generations=2", "--scale-rewards=none"]
        for line in self.train("adaptive", *options):
            trained, others = self.rows("adaptive", line["step"])
            self.assertEqual(len(trained), 8)
            self.assertEqual(line["rollout/rounds"] * 16, line["rollout/completions"])
            for prompt in {row["prompt_id"] for row in trained}:
                kept = [row for row in trained if row["prompt_id"] == prompt]
                pool = kept + [row for row in others if row["prompt_id"] == prompt]
                self.assertEqual(sorted(row["sample"] for row in pool), list(range(len(pool))))
                mean = sum(row["reward"] for row in pool) / len(pool)
                for row in kept:
                    self.assertAlmostEqual(row["advantage"], row["reward"] - mean)
                if 0 < mean < 1:
                    self.assertEqual({row["reward"] for row in kept}, {0, 1})

    def test_greedy_completions_are_the_baseline(self):
        for line in self.train("remax", "--preset=remax"):
            trained, others = self.rows("remax", line["step"])
            greedy = {row["prompt_id"]: row["reward"] for row in others if row["untrained"] == "greedy"}
            self.assertEqual(line["rollout/greedy_reward"], sum(greedy.values()) / 4)
            for row in trained:
                self.assertAlmostEqual(row["advantage"], row["reward"] - greedy[row["prompt_id"]])

    def test_prompts_with_more_to_learn_have_more_completions(self):
        options = ["--generation-budget=knapsack", "--num-generations=8", "--max-steps=15"]
        metrics = self.train("budget", *options)
        for line in metrics:
            # Ten steps are an epoch, in which nothing is known of any prompt.
            is_even = line["rollout/largest_group"] == line["rollout/smallest_group"]
            self.assertTrue(is_even or line["step"] > 10)
            self.assertEqual(len(self.rows("budget", line["step"])[0]), 32)
        self.assertGreater(max(line["rollout/largest_group"] for line in metrics), 8)

    def test_a_run_that_was_stopped_goes_on_with_the_same_bytes(self):
        gfpo = ["--preset=gfpo", "--gfpo-adaptive-difficulty", "--num-generations=9"]
        budget = ["--generation-budget=knapsack", "--keep-generations=3", "--num-generations=8"]
        for i, options in enumerate((gfpo, budget)):
            with self.subTest(options=options):
                self.check_resumption(i, *options, "--max-steps=14")

    def check_resumption(self, number, *options):
        whole, stopped = f"whole-{number}", f"stopped-{number}"
        _, errors = (run := self.start(whole, *options)).communicate()
        self.assertEqual(run.returncode, 0, errors)
        run = self.start(stopped, *options)
        # A prompt of the second epoch is known from the first one.
        while not (self.folder / stopped / "checkpoints/step-00000011").exists():
            self.assertIsNone(run.poll())
            time.sleep(0.001)
        run.send_signal(signal.SIGTERM)
        run.communicate()
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)
        resumed = self.start(stopped, "--resume", *options)
        _, errors = resumed.communicate()
        self.assertEqual(resumed.returncode, 0, errors)
        for file in ("metrics.jsonl", "completions.jsonl", "final/model.safetensors"):
            contents = [(self.folder / name / file).read_bytes() for name in (whole, stopped)]
            self.assertEqual(*contents, file)

    def test_what_contradicts_itself_is_refused(self):
        for options, part in (
            (["--dynamic-sampling", "--preset=reinforce"], "throws away groups without difference"),
            (["--dynamic-sampling", "--num-train-epochs=1"], "set train.max_steps"),
            (["--keep-generations=5"], "keep_generations (5) is more than the 4 completions"),
            (["--keep-generations=4"], "keeps all of rollout.num_generations"),
            (["--keep-generations=2", "--preset=mo_grpo"], "set sum_then_normalize"),
            (["--keep-generations=3", "--preset=gfpo", "--gfpo-k=2"], "set one of them"),
            (["--preset=gfpo", "--num-generations=8"], "gfpo_k (8) leaves none"),
            (["--preset=mc_grpo", "--num-generations=4"], "set an odd one"),
            (["--max-num-gen-batches=3"], "no effect without rollout.dynamic_sampling"),
            (["--max-sampling-rounds=3"], "no effect without rollout.adaptive_sampling"),
            (["--positive-reward=0.5"], "no effect without"),
            (["--generation-budget=knapsack", "--num-generations=2"], "two completions at least"),
            (["--adaptive-sampling=balanced", "--keep-generations=17"], "more than the 16 completions"),
            (
                ["--preset=gfpo", "--gfpo-k=2", "--gfpo-adaptive-difficulty", "--dynamic-sampling"],
                "throws the easy and the hard ones away",
            ),
            (["--adaptive-sampling=balanced"], "needs rollout.keep_generations"),
            (["--adaptive-sampling=balanced", "--keep-generations=2", "--preset=gtpo"], "no values"),
            (["--adaptive-sampling=balanced", "--generation-budget=knapsack"], "set one of them"),
            (["--gfpo-adaptive-difficulty"], 'set preset = "gfpo"'),
        ):
            with self.subTest(options=options):
                run = self.start("refused", *options)
                _, errors = run.communicate()
                self.assertEqual(run.returncode, 2, errors)
                self.assertIn(part, errors)


if __name__ == "__main__":
    unittest.main()
