"""cohort.datasets.reasoning_gym: its rows and its reward, against reasoning-gym itself.

COHORT=build/cohort .venv-test/bin/python tests/python/test_reasoning_gym.py
"""

import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import datasets
import reasoning_gym as gym
from reasoning_gym.dataset import ProceduralDataset
from reasoning_gym.factory import register_dataset

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from cohort.datasets import reasoning_gym, rows  # noqa: E402
from cohort.datasets.gym import stated_answer  # noqa: E402

# In their entries: tuples, keys that are numbers, NumPy's types, no answer, texts alone.
HARD = ("arc_agi", "rearc", "graph_color", "knights_knaves", "rubiks_cube", "countdown", "letter_jumble")
ANSWERS = ("", "17", "[[1, 2], [3, 4]]", None)


@dataclasses.dataclass
class FragileConfig:
    size: int = 3
    seed: int = 0


class Fragile(ProceduralDataset):
    def __getitem__(self, index):
        return {"question": f"Say {index}.", "answer": str(index), "metadata": {"weights": {index: (1, 2)}}}

    def score_answer(self, answer, entry):
        if answer == "boom":
            raise RuntimeError("no such answer")
        return float(int(answer) in entry["metadata"]["weights"])


register_dataset("fragile", Fragile, FragileConfig)


class RowsTest(unittest.TestCase):
    def test_rows_are_the_problems_of_reasoning_gym(self):
        made, _ = reasoning_gym("chain_sum", size=5, seed=3, min_terms=2, max_terms=2)
        problems = gym.create_dataset("chain_sum", size=5, seed=3, min_terms=2, max_terms=2)
        self.assertEqual([row["prompt"] for row in made], [entry["question"] for entry in problems])
        self.assertEqual([row["answer"] for row in made], [entry["answer"] for entry in problems])
        self.assertEqual({row["domain"] for row in made}, {"chain_sum"})
        self.assertEqual(list(rows(datasets.Dataset.from_list(made))), made)

    def test_prompts_may_be_conversations_and_begin_with_instructions(self):
        (plain,), _ = reasoning_gym("chain_sum", size=1, system_prompt="Be short.")
        (talk,), _ = reasoning_gym("chain_sum", size=1, system_prompt="Be short.", conversational=True)
        question = json.loads(talk["entry"])["question"]
        self.assertEqual(plain["prompt"], f"Be short.\n\n{question}")
        self.assertEqual(
            talk["prompt"],
            [{"role": "system", "content": "Be short."}, {"role": "user", "content": question}],
        )

    def test_problems_of_another_set_are_left_out(self):
        settings = dict(min_terms=2, max_terms=2, min_digits=1, max_digits=1)
        first, _ = reasoning_gym("chain_sum", size=60, seed=1, **settings)
        other, _ = reasoning_gym("chain_sum", size=60, seed=2, **settings)
        left, _ = reasoning_gym("chain_sum", size=60, seed=2, exclude=first, **settings)
        seen = {row["prompt"] for row in first}
        self.assertTrue(seen & {row["prompt"] for row in other})
        self.assertEqual(left, [row for row in other if row["prompt"] not in seen])

    def test_wrong_settings_are_refused(self):
        for name, settings, message in [
            ("countdwn", {}, "no data set 'countdwn'; the nearest is 'countdown'"),
            ("chain_sum", {"min_term": 2}, "no setting 'min_term'; the nearest is 'min_terms'"),
            ("chain_sum", {"min_terms": 0}, "chain_sum: min_terms must be positive"),
            ("chain_sum", {"min_terms": "two"}, "chain_sum: "),
        ]:
            with self.assertRaises(ValueError) as caught:
                reasoning_gym(name, **settings)
            self.assertIn(message, str(caught.exception))


class RewardTest(unittest.TestCase):
    def test_scores_are_those_of_score_answer(self):
        for name in HARD:
            made, reward = reasoning_gym(name, size=2, seed=3)
            problems = gym.create_dataset(name, size=2, seed=3)
            for row, entry in zip(made, problems, strict=True):
                for answer in (*ANSWERS, entry["answer"]):
                    wanted = problems.score_answer("" if answer is None else answer, entry)
                    text = f"So <answer>{answer or ''}</answer>"
                    self.assertEqual(
                        reward(completions=[text], entry=[row["entry"]]), [wanted], (name, answer)
                    )

    def test_settings_of_the_data_set_count_in_scoring(self):
        (strict,), reward = reasoning_gym("decimal_arithmetic", size=1, seed=3)
        (loose,), _ = reasoning_gym(
            "decimal_arithmetic", size=1, seed=3, min_num_decimal_places=1, max_num_decimal_places=1
        )
        for row, wanted in ((strict, 0.0), (loose, 1.0)):
            near = str(float(row["answer"]) + 0.02)
            self.assertEqual(reward(completions=[near], entry=[row["entry"]]), [wanted])

    def test_the_answer_is_found(self):
        for text, wanted in [
            ("  7 ", "7"),
            ("<answer>6</answer> or <answer> 7\n</answer>.", "7"),
            ("<think><answer>6</answer></think>7", "7"),
            ("<think>6</think> I say \\boxed{6} \\boxed{\\frac{7}{8}} units", "\\frac{7}{8}"),
            ("\\boxed{7", ""),
            ("<answer>7", "<answer>7"),
        ]:
            self.assertEqual(stated_answer(text), wanted)

    def test_it_is_called_as_trl_calls_rewards(self):
        made, reward = reasoning_gym("chain_sum", size=2, conversational=True)
        completions = [[{"role": "assistant", "content": text}] for text in (made[0]["answer"], "no idea")]
        columns = {name: [row[name] for row in made] for name in made[0] if name != "prompt"}
        scores = reward(
            prompts=[row["prompt"] for row in made],
            completions=completions,
            completion_ids=[[1], [2]],
            trainer_state=None,
            log_extra=None,
            log_metric=None,
            **columns,
        )
        self.assertEqual(scores, [1.0, 0.0])

    def test_a_score_that_fails_is_nan_for_its_completion_alone(self):
        made, reward = reasoning_gym("fragile", size=3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scores = reward(completions=["0", "boom", "7"], entry=[row["entry"] for row in made])
        self.assertEqual((scores[0], scores[2]), (1.0, 0.0))
        self.assertTrue(math.isnan(scores[1]))
        self.assertIn("fragile can't score 'boom': RuntimeError: no such answer", str(caught[0].message))


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # The reward runs in the first python3 of PATH.
        python = pathlib.Path(sys.executable).parent
        self.environment = os.environ | {
            "PYTHONPATH": str(ROOT / "python"),
            "PATH": f"{python}:{os.environ['PATH']}",
        }

    def run_command(self, *command):
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def make(self, *arguments):
        return self.run_command(sys.executable, "-m", "cohort", "data", "reasoning-gym", *arguments)

    def test_it_writes_the_rows(self):
        flags = ("--size", "3", "--seed", "5", "--max_terms", "2", "--min-terms=2", "--conversational")
        done = self.make("chain_sum", *flags, "--output", "a.jsonl")
        self.assertEqual((done.returncode, done.stdout), (0, "wrote 3 rows to a.jsonl\n"), done.stderr)
        made, _ = reasoning_gym("chain_sum", 3, 5, conversational=True, min_terms=2, max_terms=2)
        self.assertEqual(list(rows(self.folder / "a.jsonl")), made)
        done = self.make("chain_sum", *flags, "--exclude", "a.jsonl", "--output", "b.jsonl")
        self.assertEqual(done.returncode, 2)
        self.assertIn("b.jsonl: there are no rows to write", done.stderr)

    def test_wrong_input_is_one_line(self):
        for arguments, message in [
            (("countdwn",), "cohort: reasoning-gym has no data set 'countdwn'"),
            (("countdown", "--x", "1"), "cohort: countdown has no setting 'x'"),
            (("countdown", "--min_numbers"), "cohort: unexpected argument '--min_numbers'"),
        ]:
            done = self.make(*arguments, "--output", "a.jsonl")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(message, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_reward_runs_in_the_program(self):
        made, reward = reasoning_gym("arc_agi", size=4, seed=1)
        with open(self.folder / "rows.jsonl", "w", encoding="utf-8") as file:
            for index, row in enumerate(made):
                answer = row["answer"] if index % 2 == 0 else "1 2\n3 4"
                file.write(json.dumps(row | {"completion": f"<answer>{answer}</answer>"}) + "\n")
        (self.folder / "reward.toml").write_text(
            '[[reward]]\nname = "score"\ntype = "python"\nfunction = "cohort.datasets:reasoning_gym_reward"\n'
            "timeout_s = 60\n"
        )
        done = self.run_command(
            str(pathlib.Path(os.environ["COHORT"]).resolve()),
            *("verify", "--reward-config", "reward.toml", "--input", "rows.jsonl", "--output", "out.jsonl"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        scores = [json.loads(line)["score"] for line in open(self.folder / "out.jsonl", encoding="utf-8")]
        texts = [
            json.loads(line)["completion"] for line in open(self.folder / "rows.jsonl", encoding="utf-8")
        ]
        self.assertEqual(scores, reward(completions=texts, entry=[row["entry"] for row in made]))
        self.assertEqual(scores, [1.0, 0.05, 1.0, 0.05])


if __name__ == "__main__":
    unittest.main()
