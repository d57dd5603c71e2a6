"""A run's checkpoints are models for transformers and PEFT, which compute the same with them.

COHORT=build/cohort python tests/python/test_checkpoints.py
"""

import json
import unittest

import peft
import torch
import transformers
from comparing import completion_logprobs, differences, read_lines, write_lines
from tiny_run import TinyRunTest, cohort

TOLERANCE = 3e-5
ROWS = [
    {"prompt_ids": [5, 9, 33], "completion_ids": [8, 260, 7, 11]},
    {"prompt_ids": [40], "completion_ids": [3]},
]


class CheckpointsTest(TinyRunTest):
    def setUp(self):
        super().setUp()
        config = self.folder / "m/config.json"  # by which transformers finds the class
        config.write_text(json.dumps({**json.loads(config.read_text()), "model_type": "llama"}))

    def checkpoint(self, name, *options):
        run = self.start(name, "--max-steps", 2, *options)
        _, errors = run.communicate()
        self.assertEqual(run.returncode, 0, errors)
        return self.folder / name / "checkpoints/step-00000001"

    def check(self, directory, model):
        rows = self.folder / "rows.jsonl"
        write_lines(rows, ROWS)
        cohort("score", "--model", directory, "--input", rows, "--output", self.folder / "out.jsonl")
        ours = [torch.tensor(row["logprobs"]) for row in read_lines(self.folder / "out.jsonl")]
        with torch.no_grad():
            theirs = [completion_logprobs(model.eval(), row) for row in ROWS]
        self.assertLess(differences(ours, theirs).max(), TOLERANCE)
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
        self.assertGreater(len(tokenizer("1 + 2").input_ids), 0)

    def test_whole_models(self):
        directory = self.checkpoint("full")
        self.check(directory, transformers.AutoModelForCausalLM.from_pretrained(directory))

    def test_adapters(self):
        directory = self.checkpoint("lora", "--lora.r", 3, "--optimizer.learning_rate", 0.05)
        self.check(directory, peft.AutoPeftModelForCausalLM.from_pretrained(directory))

    def test_merged_checkpoints(self):
        directory, merged = self.checkpoint("half", "--model.dtype", "bfloat16"), self.folder / "merged"
        cohort("merge", "--model", directory, "--output", merged)
        model = transformers.AutoModelForCausalLM.from_pretrained(merged)
        self.assertEqual(model.dtype, torch.bfloat16)
        self.check(merged, model.float())


if __name__ == "__main__":
    unittest.main()
