"""Training data: compressed files, mixtures, splits, and resuming in the middle of them.

COHORT=build/cohort python3 tests/cli/test_datasets.py
"""

import gzip
import json
import re
import shutil
import unittest

import cli_case
from cli_case import CliTest, read_lines, run, write_lines

setUpModule = cli_case.setUpModule


class DatasetTest(CliTest):
    """Training on compressed files, mixtures and splits, and resuming in the middle of them."""

    RECIPE = """
        seed = 4
        [[reward]]
        name = "format"
        [rollout]
        prompts_per_step = 3
        num_generations = 2
        max_completion_length = 4
        [optimizer]
        learning_rate = 1e-3
        [train]
        save_steps = 1
    """

    def write_recipe(self, data):
        path = self.folder / "data-recipe.toml"
        path.write_text(self.RECIPE + data)
        return path

    def rows(self, name, count):
        return "".join(json.dumps({"prompt": f"{name} {i}"}) + "\n" for i in range(count))

    def mixture(self):
        (self.folder / "mix-a.jsonl").write_text(self.rows("a", 8))
        (self.folder / "mix-b1.gz").write_bytes(gzip.compress(self.rows("b", 3).encode()))
        (self.folder / "mix-b2.gz").write_bytes(
            gzip.compress(self.rows("c", 2).replace("prompt", "question").encode())
        )
        return self.write_recipe(f"""
            [[data.source]]
            path = "{self.folder}/mix-a.jsonl"
            weight = 2
            domain = "letters"
            [[data.source]]
            path = ["{self.folder}/mix-b1.*"]
            weight = 1
            """)

    def train(self, recipe, name, *options, code=0):
        run_dir = self.folder / name
        places = ("--model.path", self.model, "--run-dir", run_dir)
        result = run("train", recipe, *places, "--threads", 1, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return run_dir, result.stderr

    def drawn(self, run_dir):
        rows = read_lines(run_dir / "completions.jsonl")
        return [row["prompt"] for row in rows if row["sample"] == 0]

    def test_a_mixture_keeps_its_weights_and_resumes_exactly(self):
        recipe = self.mixture()
        whole, log = self.train(recipe, "mix-whole", "--max-steps", 9)
        self.assertIn("67% of the draws", log)
        prompts = self.drawn(whole)
        self.assertEqual(len(prompts), 27)
        for step in range(9):
            self.assertEqual(sum(p.startswith("a") for p in prompts[3 * step : 3 * step + 3]), 2)
        tags = {(row["prompt"][0], row.get("domain")) for row in read_lines(whole / "completions.jsonl")}
        self.assertEqual(tags, {("a", "letters"), ("b", None)})
        # Every row comes before any comes again.
        self.assertEqual(len({p for p in prompts if p.startswith("a")}), 8)
        self.assertEqual(sorted(p for p in prompts if p.startswith("b"))[::3], ["b 0", "b 1", "b 2"])

    def test_sources_take_columns_that_they_do_not_name_from_the_data_section(self):
        self.mixture()
        recipe = self.write_recipe(f"""
            [data]
            columns = {{prompt = "question"}}
            [[data.source]]
            path = "{self.folder}/mix-a.jsonl"
            columns = {{prompt = "prompt"}}
            [[data.source]]
            path = "{self.folder}/mix-b2.gz"
            """)
        run_dir, _ = self.train(recipe, "columns-run", "--num-train-epochs", 1)
        self.assertEqual(set(self.drawn(run_dir)[:10]), {*(f"a {i}" for i in range(8)), "c 0", "c 1"})

    def test_resuming_on_edited_data_is_refused(self):
        recipe = self.mixture()
        options = ("--max-steps", 4, "--train.save_total_limit", 9)
        run_dir, _ = self.train(recipe, "mix-edited", *options)
        expected = self.drawn(run_dir)
        for step in (3, 4):
            shutil.rmtree(run_dir / "checkpoints" / f"step-{step:08}")
        self.train(recipe, "mix-edited", *options, "--resume")
        self.assertEqual(self.drawn(run_dir), expected)
        for step in (3, 4):
            shutil.rmtree(run_dir / "checkpoints" / f"step-{step:08}")
        path = self.folder / "mix-a.jsonl"
        path.write_text(path.read_text().replace("a 5", "a 9"))
        _, errors = self.train(recipe, "mix-edited", *options, "--resume", code=2)
        self.assertIn("mix-a.jsonl has changed since the checkpoint", errors)

    def test_held_out_prompts_are_evaluated_and_not_trained_on(self):
        (self.folder / "split.jsonl").write_text(self.rows("s", 30))
        recipe = self.write_recipe(
            f'[data]\npath = "{self.folder}/split.jsonl"\ntest_split_size = 0.3\nshuffle_dataset = false\n'
        )
        run_dir, log = self.train(
            recipe, "split-run", "--num-train-epochs", 1, "--eval-steps", 5, "--num-generations-eval", 2
        )
        used = int(re.search(r"training data .*: (\d+) of 30 rows", log)[1])
        held_out = int(re.search(r"evaluation data .*: (\d+) of 30 rows", log)[1])
        self.assertEqual(used + held_out, 30)
        self.assertGreater(held_out, 2)
        self.assertEqual(len(set(self.drawn(run_dir))), used)
        self.assertIn("eval_reward", read_lines(run_dir / "metrics.jsonl")[-1])

    def test_overlong_prompts_and_columns(self):
        rows = [{"question": "1 " * n} for n in (1, 2, 60)]
        write_lines(self.folder / "long-q.jsonl", rows)
        recipe = self.write_recipe(
            f'[data]\npath = "{self.folder}/long-q.jsonl"\ncolumns = {{prompt = "question"}}\n'
            "max_prompt_length = 20\n"
        )
        _, errors = self.train(recipe, "long-run", "--max-steps", 1, code=2)
        self.assertIn("long-q.jsonl:3: the prompt has", errors)
        self.assertFalse((self.folder / "long-run").exists())
        run_dir, log = self.train(recipe, "long-run", "--max-steps", 1, "--filter-overlong-prompts")
        self.assertIn("1 too long", log)
        self.assertEqual({prompt.strip() for prompt in self.drawn(run_dir)}, {"1", "1 1"})

    def test_wrong_settings(self):
        recipe = self.mixture()
        for options, part in [
            (("--data.path", "x"), "exclude each other"),
            (("--data.source.2.path", "x"), "some have a weight and others none"),
            (("--data.source.2.weight", 1), "data.source.2.path is not set"),
            (("--data.source.0.weight", 0), "above 0"),
            (("--data.test_split_size", 1), "below 1"),
            (("--data.deduplicate", "yes"), "none, prompt or row"),
            (("--data.columns", "prompt"), "table of strings"),
            (("--data.source.1.columns", "prompt=nowhere"), '"nowhere"'),
        ]:
            with self.subTest(options=options):
                _, errors = self.train(recipe, "wrong-run", "--max-steps", 1, *options, code=2)
                self.assertIn(part, errors)
                self.assertFalse((self.folder / "wrong-run").exists())


if __name__ == "__main__":
    unittest.main()
