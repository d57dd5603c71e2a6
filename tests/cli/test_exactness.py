"""Bits that nothing around them changes: of `cohort sample`, `cohort score` and whole runs of `cohort train`.

COHORT=build/cohort python3 tests/cli/test_exactness.py
"""

import math
import os
import unittest

import cli_case
from cli_case import (
    COMPLETION_LENGTH,
    PROMPT_LENGTHS,
    ROOT,
    CliTest,
    prompt_rows,
    read_lines,
    run,
    write_lines,
)

setUpModule = cli_case.setUpModule


class ExactnessTest(CliTest):
    """The tokens and their log-probabilities are the same bits whatever the machinery around them does."""

    DTYPES = ("float32", "bfloat16")

    def test_score_gives_the_bits_of_sample(self):
        for dtype in self.DTYPES:
            for temperature in (1.0, 0.7):
                settings = ("--dtype", dtype, "--temperature", temperature)
                rows = self.sample(*settings)
                expected = [row["logprobs"] for row in rows]
                self.assertGreater(len({value for row in expected for value in row}), 100)
                self.assertEqual(self.score(rows, *settings), expected)
        self.assertNotEqual(self.score(rows, "--dtype", "bfloat16", "--temperature", 0.71), expected)

    def test_score_does_not_depend_on_threads_or_budget(self):
        for dtype in self.DTYPES:
            rows = self.sample("--dtype", dtype)
            expected = [row["logprobs"] for row in rows]
            for threads, budget in ((1, 1), (2, 100), (3, 37), (5, 8192), (8, 250)):
                with self.subTest(dtype=dtype, threads=threads, budget=budget):
                    options = ("--dtype", dtype, "--threads", threads, "--tokens_per_microbatch", budget)
                    self.assertEqual(self.score(rows, *options), expected)
            alone = [self.score([row], "--dtype", dtype)[0] for row in rows[::7]]
            self.assertEqual(alone, expected[::7])

    def test_sample_does_not_depend_on_threads_or_cache(self):
        least = self.least_cache_tokens()
        for dtype in self.DTYPES:
            expected = self.sample("--dtype", dtype)
            for threads, cache in ((1, 0), (2, least), (3, least + 64), (5, 4096), (8, least + 16)):
                with self.subTest(dtype=dtype, threads=threads, cache=cache):
                    options = ("--dtype", dtype, "--threads", threads, "--cache-tokens", cache)
                    self.assertEqual(self.sample(*options), expected)

    def test_filters_do_not_depend_on_threads_or_cache(self):
        filters = ("--top-k", 20, "--top-p", 0.9, "--min-p", 0.01)
        expected = self.sample(*filters)
        self.assertNotEqual(expected, self.sample())
        cache = self.least_cache_tokens()
        self.assertEqual(self.sample(*filters, "--threads", 3, "--cache-tokens", cache), expected)

    def least_cache_tokens(self):
        """Room for the longest prompt and one completion of it: the other sequences must give way again and again."""
        longest = max(PROMPT_LENGTHS)
        pages = math.ceil(longest / 16) + math.ceil((longest % 16 + COMPLETION_LENGTH) / 16)
        ask = [
            "sample",
            "--model",
            self.model,
            "--input",
            self.prompts,
            "--output",
            self.folder / "none.jsonl",
        ]
        less = run(*ask, "--max-completion-length", COMPLETION_LENGTH, "--cache-tokens", 16 * (pages - 1))
        self.assertEqual(less.returncode, 2, less.stderr)
        self.assertIn(f"give at least {16 * pages}", less.stderr)
        return 16 * pages

    def test_sample_does_not_depend_on_the_other_prompts(self):
        given = prompt_rows()
        expected = {}
        for row in self.sample():
            expected.setdefault(row["prompt_index"], []).append(row)
        others = [{"prompt_ids": [9, 9, 9 + i]} for i in range(len(given))]
        for kept in (0, 3, 5):
            for rows in ([*others[:kept], given[kept], *others[kept + 1 :]], [*others[:kept], given[kept]]):
                prompts = write_lines(self.folder / "mixed.jsonl", rows)
                result = [row for row in self.sample(prompts=prompts) if row["prompt_index"] == kept]
                self.assertEqual(result, expected[kept])

    def test_sample_does_not_depend_on_the_group_size(self):
        large = self.sample(generations=5)
        small = self.sample(generations=2)
        self.assertEqual([large[i] for i in range(len(large)) if i % 5 < 2], small)

    def test_many_prompts_are_cut_into_rollouts(self):
        rows = [{"prompt_ids": [1 + i % 400, 2]} for i in range(600)]
        prompts = write_lines(self.folder / "many.jsonl", rows)
        many = self.sample("--max-completion-length", 2, prompts=prompts, generations=1)
        self.assertEqual([row["prompt_index"] for row in many], list(range(600)))
        # Twice the completions are cut at other prompts.
        twice = self.sample("--max-completion-length", 2, prompts=prompts, generations=2)
        self.assertEqual(many, twice[::2])
        # The same prompt at another place has other random numbers.
        ids = [row["completion_ids"] for row in many]
        self.assertNotEqual(ids[:200], ids[400:])


class RunTest(CliTest):
    """Whole GRPO steps: mixed prompt lengths, pages that do not suffice, filters on, every reward different."""

    RECIPE = """
        seed = 4
        [rollout]
        prompts_per_step = 4
        num_generations = 6
        max_completion_length = 20
        top_k = 60
        top_p = 0.95
        cache_tokens = 192
        [[reward]]
        name = "hash"
        type = "python"
        function = "{reward}:hash_reward"
        [objective]
        loss_type = "grpo"
        [optimizer]
        learning_rate = 1e-3
        [train]
        max_steps = {steps}
        tokens_per_microbatch = 1000
    """

    def setUp(self):
        words = ["2 + 3 =", "a", "Numbers: 4 5 6. " * 5, "target " * 7, "the sum of 1 and 2 is", "x" * 40]
        self.texts = write_lines(self.folder / "run-texts.jsonl", [{"prompt": text} for text in words])

    def train(self, name, *options, steps=2, threads=1):
        recipe = self.folder / "run.toml"
        recipe.write_text(self.RECIPE.format(reward=ROOT / "bench" / "hash_reward.py", steps=steps))
        run_dir = self.folder / f"run-{name}"
        places = ("--model.path", self.model, "--data.path", self.texts, "--run-dir", run_dir)
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        result = run("train", recipe, *places, *options, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return run_dir

    def assert_same_results(self, one, other):
        for name in ("metrics.jsonl", "completions.jsonl", "final/model.safetensors"):
            self.assertEqual((one / name).read_bytes(), (other / name).read_bytes(), name)

    def test_the_trainer_sees_the_samplers_log_probabilities(self):
        for dtype in ("float32", "bfloat16"):
            run_dir = self.train(f"exact-{dtype}", "--model.dtype", dtype)
            completions = read_lines(run_dir / "completions.jsonl")
            first = read_lines(run_dir / "metrics.jsonl")[0]
            self.assertEqual(first["sampling/sampling_logp_difference/max"], 0)
            groups = {row["prompt_id"]: row for row in completions if row["step"] == 1}
            self.assertGreater(len({len(row["prompt_ids"]) for row in groups.values()}), 2)
            prompt_rows = sum(len(row["prompt_ids"]) for row in groups.values())
            completion_rows = sum(len(row["completion_ids"]) - 1 for row in completions if row["step"] == 1)
            self.assertEqual(first["rows/prompt"], prompt_rows)
            self.assertEqual(first["rows/completion"], completion_rows)
            self.assertEqual(first["rows/repeated_prompt"], 0)

    def test_one_seed_gives_the_same_bytes(self):
        one, two = (self.train(f"again-{i}", threads=2) for i in range(2))
        self.assert_same_results(one, two)
        other = self.train("other-seed", "--seed", 5)
        self.assertNotEqual(
            (one / "completions.jsonl").read_bytes(), (other / "completions.jsonl").read_bytes()
        )

    def test_threads_do_not_change_a_run(self):
        for dtype in ("float32", "bfloat16"):
            for name, options in (
                ("many", ()),
                # One prompt whose completions must take turns: a single live row a pass.
                ("single", ("--prompts-per-step", 1, "--num-generations", 2, "--cache-tokens", 144)),
            ):
                expected = None
                for threads in (1, 2, 3, 5, 8):
                    with self.subTest(dtype=dtype, name=name, threads=threads):
                        settings = ("--model.dtype", dtype, "--tokens-per-microbatch", 100, *options)
                        run_dir = self.train(f"threads-{dtype}-{name}-{threads}", *settings, threads=threads)
                        expected = expected or run_dir
                        self.assert_same_results(run_dir, expected)


if __name__ == "__main__":
    unittest.main()
