"""Evaluations from outside: `cohort eval` with a recipe's rewards, what it keeps, and evaluations within runs.

COHORT=build/cohort python3 tests/cli/test_evaluation.py
"""

import json
import unittest

import cli_case
from cli_case import read_lines, run, write_lines

setUpModule = cli_case.setUpModule

# The first reward reads answers; the second is 1 for short texts.
REWARDS = """
    [[reward]]
    name = "right"
    type = "numeric"
    weight = 2.0
    [[reward]]
    name = "even"
    type = "python"
    function = "{reward}:even"
    [optimizer]
    learning_rate = 0.02
"""
FUNCTION = """
def even(completion_ids, **columns):
    return [float(sum(ids) % 2 == 0) for ids in completion_ids]
"""


class PromptsTest(cli_case.CliTest):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        reward = self.place / "reward.py"
        reward.write_text(FUNCTION)
        self.recipe = self.place / "recipe.toml"
        self.recipe.write_text("seed = 2\n" + REWARDS.format(reward=reward))
        self.rows = [{"question": f"{i} =", "answer": str(i)} for i in range(5)]
        self.data = write_lines(self.place / "rows.jsonl", self.rows)


class EvaluationTest(PromptsTest):
    def evaluate(self, *options, code=0):
        output = self.place / "e.json"
        places = ("--model", self.model, "--input", self.data, "--output", output)
        result = run("eval", *places, "--max-completion-length", 8, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr if code else json.loads(output.read_text())

    COLUMNS = ("--columns", "prompt=question")

    def test_all_rewards_of_a_recipe(self):
        options = (*self.COLUMNS, "--reward-config", self.recipe, "--num-generations", 4)
        both = self.evaluate(*options)
        alone = {name: self.evaluate(*options, "--reward", name) for name in ("right", "even")}
        for name, result in alone.items():
            self.assertEqual(result["reward"], name)
            for key in ("mean", "pass@k", "reward_statuses"):
                self.assertEqual(both["rewards"][name][key], result[key])
        self.assertAlmostEqual(both["mean"], 2 * alone["right"]["mean"] + alone["even"]["mean"])
        self.assertGreater(alone["even"]["mean"], 0.0)
        self.assertNotIn("pass@k", both)

    def test_a_reward_that_judges_nothing_is_no_evaluation(self):
        broken = self.place / "broken.py"
        broken.write_text(
            "def raises(completions, **columns):\n    raise KeyError('gold')\n"
            "def skips(completions, **columns):\n    return [None] * len(completions)\n"
        )
        for reward, message in (
            (
                ("countdown",),
                "reward countdown failed on all 5 completions; the last one: unparsed, rows.jsonl:",
            ),
            (("python", "--function", f"{broken}:raises"), "reward python failed on all 5 completions"),
            (("python", "--function", f"{broken}:skips"), "every reward skipped all 5 completions"),
        ):
            error = self.evaluate(*self.COLUMNS, "--reward", *reward, code=2).splitlines()[-1]
            self.assertIn(message, error)
            self.assertIsNone(json.loads((self.place / "e.json").read_text())["mean"])

    def test_what_was_sampled_is_kept(self):
        options = (*self.COLUMNS, "--num-generations", 3)
        result = self.evaluate(*options, "--reward-config", self.recipe)
        rows = read_lines(self.place / "e.completions.jsonl")
        self.assertEqual(
            [(row["prompt_id"], row["sample"]) for row in rows],
            [(f"rows.jsonl:{line}", sample) for line in range(1, 6) for sample in range(3)],
        )
        scores = [row["rewards"]["even"]["score"] for row in rows]
        self.assertEqual(scores, [float(sum(row["completion_ids"]) % 2 == 0) for row in rows])
        self.assertAlmostEqual(result["rewards"]["even"]["mean"], sum(scores) / 15)
        self.assertEqual({row["prompt"] for row in rows}, {row["question"] for row in self.rows})
        (self.place / "e.completions.jsonl").unlink()
        again = self.evaluate(*options, "--reward-config", self.recipe, "--log-completions", "false")
        self.assertEqual(again, result)
        self.assertFalse((self.place / "e.completions.jsonl").exists())
        self.data.rename(self.place / "e.completions.jsonl")
        self.data = self.place / "e.completions.jsonl"
        error = self.evaluate(*options, "--reward", "accuracy", code=2)
        self.assertIn("name another --output", error)
        self.assertEqual(read_lines(self.data), self.rows)

    def test_majority_votes_are_those_of_the_samples(self):
        self.data = write_lines(
            self.place / "say.jsonl", [{"prompt": f"{i}", "answer": str(i)} for i in range(9)]
        )
        result = self.evaluate("--reward", "numeric", "--num-generations", 6)
        rows = read_lines(self.place / "e.completions.jsonl")
        cells = [row["rewards"]["numeric"] for row in rows]
        self.assertGreater(sum("states no number" not in cell["detail"] for cell in cells), 5)
        self.assertEqual(list(result["cons@k"]), ["2", "4"])
        for k in (2, 4):
            shares = []
            for first in range(0, len(cells), 6):
                blocks = [cells[i : i + k] for i in range(first, first + 6 - k + 1, k)]
                shares.append(sum(map(self.share_right, blocks)) / len(blocks))
            self.assertAlmostEqual(result["cons@k"][str(k)], sum(shares) / len(shares))
        self.assertNotIn("cons@k", self.evaluate("--reward", "format", "--num-generations", 4))

    def share_right(self, cells):
        """By hand: the most frequent stated numbers, and the share of them that is right."""
        answers = [cell["detail"] for cell in cells if "states no number" not in cell["detail"]]
        right = {cell["detail"] for cell in cells if cell["score"] == 1}
        first = {answer for answer in answers if answers.count(answer) == max(map(answers.count, answers))}
        return len(first & right) / len(first) if first else 0.0

    def test_what_is_missing_is_said(self):
        error = self.evaluate("--reward", "accuracy", code=2)
        self.assertIn('the column "prompt" is missing', error)
        self.assertIn("--columns prompt=NAME", error)
        error = self.evaluate("--columns", "prompt=text", "--reward", "accuracy", code=2)
        self.assertIn('the column "text" is missing', error)
        self.assertIn("--reward-config", self.evaluate(*self.COLUMNS, code=2))
        error = self.evaluate(*self.COLUMNS, "--reward-config", self.recipe, "--reward", "rihgt", code=2)
        self.assertIn('no [[reward]] named "rihgt"', error)
        empty = self.place / "empty.toml"
        empty.write_text("seed = 1\n")
        self.assertIn("no [[reward]]", self.evaluate(*self.COLUMNS, "--reward-config", empty, code=2))


class RunEvaluationTest(PromptsTest):
    """Evaluations within `cohort train`."""

    def train(self, name, *options, code=0):
        run_dir = self.place / name
        places = ("--model.path", self.model, "--data.path", self.data, "--run-dir", run_dir)
        sizes = ("--prompts-per-step", 2, "--num-generations", 2, "--max-completion-length", 4)
        evaluation = ("--data.eval_path", self.data, "--eval-steps", 1, "--data.columns", "prompt=question")
        result = run(
            *("train", self.recipe, *places, *sizes, *evaluation, "--threads", 1),
            *("--model.dtype", "float32", *options),
        )
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr if code else (run_dir, result.stderr)

    def test_before_the_first_step(self):
        run_dir, _ = self.train("run", "--max-steps", 2, "--eval-on-start")
        rows = read_lines(run_dir / "metrics.jsonl")
        self.assertEqual([row["step"] for row in rows], [0, 1, 2])
        self.assertIn("eval_rewards/even/mean", rows[0])
        self.assertNotIn("loss", rows[0])
        other, _ = self.train("other", "--max-steps", 2)
        self.assertEqual(read_lines(other / "metrics.jsonl"), rows[1:])
        # A run that is resumed does not evaluate its start again.
        self.train("run", "--max-steps", 3, "--eval-on-start", "--resume")
        self.assertEqual([row["step"] for row in read_lines(run_dir / "metrics.jsonl")], [0, 1, 2, 3])

    def test_at_a_temperature_of_their_own(self):
        greedy, _ = self.train("greedy", "--max-steps", 1, "--temperature-eval", 0)
        sampled, _ = self.train("sampled", "--max-steps", 1)
        one, two = (read_lines(place / "metrics.jsonl")[0] for place in (greedy, sampled))
        # All completions of a prompt are the same, so that no further one can succeed.
        self.assertEqual(one["eval_rewards/even/pass@1"], one["eval_rewards/even/pass@2"])
        self.assertLess(two["eval_rewards/even/pass@1"], two["eval_rewards/even/pass@2"])
        self.assertEqual(one["loss"], two["loss"])
        error = self.train("wrong", "--max-steps", 1, "--eval-steps", 0, "--top-p-eval", 0.5, code=2)
        self.assertIn("eval_path has no effect", error)

    def test_early_stopping(self):
        # Lengths are always 4: no evaluation after the first is better.
        options = (
            "--max-steps",
            9,
            "--ignore-eos",
            "--metric-for-best-model",
            "eval_completions/mean_length",
        )
        run_dir, log = self.train("run", *options, "--early-stopping-patience", 2)
        self.assertIn("the run ends early, after step 3", log)
        self.assertEqual(len(read_lines(run_dir / "metrics.jsonl")), 3)
        self.assertTrue((run_dir / "final/model.safetensors").exists())
        whole, _ = self.train("whole", *options)
        lines = (whole / "metrics.jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 9)
        self.assertEqual((run_dir / "metrics.jsonl").read_text().splitlines(), lines[:3])
        # Resumed, it has ended; with more patience it goes on.
        _, log = self.train("run", *options, "--early-stopping-patience", 2, "--resume")
        self.assertIn("the run ends early, after step 3", log)
        self.train("run", *options, "--early-stopping-patience", 4, "--resume")
        self.assertEqual((run_dir / "metrics.jsonl").read_text().splitlines(), lines[:5])

    def test_metrics_that_do_not_exist(self):
        error = self.train(
            "run", "--max-steps", 1, "--metric-for-best-model", "eval_rewards/evn/mean", code=2
        )
        self.assertIn('did you mean "eval_rewards/even/mean"?', error)
        self.assertFalse((self.place / "run").exists())


if __name__ == "__main__":
    unittest.main()
