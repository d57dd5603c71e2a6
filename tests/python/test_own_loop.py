"""The loop of docs/python/own-loop.md, as the page has it: it learns, and it is `cohort train` to the last digit.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_own_loop.py
"""

import contextlib
import io
import json
import os
import re
import unittest

import torch
from engine_model import EngineTest, columns
from tiny_run import ROOT, cohort

import cohort as package

PAGE = (ROOT / "docs/python/own-loop.md").read_text()
LOOP, BATCH, REFERENCE, LOSS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
RECIPE = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]
REWARD = """
def digits(prompts, completions, **columns):
    return [sum(character.isdigit() for character in text) / max(len(text), 1) for text in completions]
"""


class OwnLoopTest(EngineTest):
    def setUp(self):
        back = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, back)
        rows = [{"prompt": f"{i} + {7 * i % 31} ="} for i in range(120)]
        (self.folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (self.folder / "reward.py").write_text(REWARD)

    def test_the_loop(self):
        self.assertLessEqual(len(LOOP.splitlines()), 40)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(LOOP, "own-loop.md", "exec"), {})
        lines = [tuple(map(float, line.split())) for line in printed.getvalue().splitlines()]
        rewards = [reward for _, reward, _, _ in lines]
        self.assertGreater(sum(rewards[-5:]) / 5, sum(rewards[:5]) / 5 + 0.2)

        (self.folder / "recipe.toml").write_text(RECIPE)
        cohort("train", self.folder / "recipe.toml", "--run-dir", self.folder / "run")
        metrics = [json.loads(line) for line in (self.folder / "run/metrics.jsonl").read_text().splitlines()]
        self.assertEqual(len(metrics), len(lines))
        for line, row in zip(lines, metrics):
            self.assertEqual(line, (row["step"], row["reward"], row["loss"], row["grad_norm"]))
        weights = [self.folder / name / "model.safetensors" for name in ("trained", "run/final")]
        self.assertEqual(weights[0].read_bytes(), weights[1].read_bytes())

    def test_the_other_examples(self):
        engine = self.load()
        names = {"cohort": package, "engine": engine, "torch": torch}
        exec(BATCH, names)
        self.assertEqual([len(row) for row in columns(names["groups"], "old_logprobs")], [3, 2])
        exec(REFERENCE.replace("...", ""), names)
        self.assertIn("kl", names["metrics"])
        exec(LOSS, names)
        self.assertAlmostEqual(names["metrics"]["ratio_sum"], 5.0, places=5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
