"""Classification heads of every family against transformers, on small random models (see make_models.py).

SCORES=build/head_scores python tests/python/test_heads.py
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import make_models
import torch
import transformers
from comparing import write_lines

SCORES = pathlib.Path(os.environ["SCORES"]).resolve()
FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "qwen3-moe", "mixtral")
HEADS = {
    "sequence": transformers.AutoModelForSequenceClassification,
    "token": transformers.AutoModelForTokenClassification,
}
MIN_EFFECT = 1e-2
TOLERANCE = 5e-6  # of scores around 1, in float32 against float64


def make_sequences():
    """Lengths around tile edges; id 0 is the pad token: behind a sequence, within one, and alone."""
    generator = torch.Generator().manual_seed(3)

    def draw(count):
        return torch.randint(1, make_models.VOCAB_SIZE, (count,), generator=generator).tolist()

    return [draw(1), draw(16), draw(63) + [0], draw(20) + [0] * 5, draw(9) + [0] + draw(7), [0, 0], draw(130)]


def reference_scores(model, head, sequences):
    with torch.no_grad():
        rows = [model(torch.tensor([ids])).logits for ids in sequences]
    return [row.double() if head == "sequence" else row[0].double() for row in rows]


def largest(left, right):
    return max((a - b).abs().max().item() for a, b in zip(left, right, strict=True))


class HeadsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cohort-heads-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.sequences = make_sequences()
        write_lines(cls.folder / "rows.jsonl", [{"ids": ids} for ids in cls.sequences])

    def test_scores_agree(self):
        for family in FAMILIES:
            for head in HEADS:
                if (family, head) == ("gemma3", "token"):
                    continue  # transformers has no such class
                for num_labels in (1, 3):
                    with self.subTest(family=family, head=head, num_labels=num_labels):
                        self.check(family, head, num_labels)

    def check(self, family, head, num_labels, **changes):
        case = make_models.CASES[family]
        auto = HEADS[head]
        config = make_models.make_config(case, num_labels=num_labels, **changes)
        model = make_models.make_model(config, num_labels, auto)
        folder = self.folder / f"{family}-{head}-{num_labels}"
        make_models.save(model, folder)
        exact = reference_scores(make_models.load(folder, torch.float64, auto), head, self.sequences)
        theirs = largest(reference_scores(model, head, self.sequences), exact)
        ours = largest(self.scores(folder, head), exact)
        print(f"{family}, {head} head, {num_labels} labels: error {ours:.2g}, transformers' {theirs:.2g}")
        self.assertLess(ours, TOLERANCE)
        self.check_that_it_would_show(model, head, exact)

    def check_that_it_would_show(self, model, head, exact):
        """A head without its bias, or read at the last token where that is padding, gives other scores."""
        if head == "token":
            if model.score.bias is not None:
                self.assertGreater(model.score.bias.abs().min().item(), MIN_EFFECT)
            return
        with torch.no_grad():
            last = [
                model.score(model.model(torch.tensor([ids])).last_hidden_state[:, -1])
                for ids in self.sequences
            ]
        self.assertGreater(largest([row.double() for row in last], exact), MIN_EFFECT)

    def test_a_token_head_may_have_no_bias(self):
        self.check("qwen2", "token", 2, token_classification_bias=False)

    def scores(self, folder, head):
        result = subprocess.run(
            [SCORES, folder, head, self.folder / "rows.jsonl"], capture_output=True, text=True
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return [torch.tensor(json.loads(line), dtype=torch.float64) for line in result.stdout.splitlines()]

    def test_a_head_is_no_language_model(self):
        case = make_models.CASES["qwen3"]
        folder = self.folder / "language-model"
        make_models.save(make_models.make_model(make_models.make_config(case), 1), folder)
        result = subprocess.run(
            [SCORES, folder, "sequence", self.folder / "rows.jsonl"], capture_output=True, text=True
        )
        self.assertEqual(result.returncode, 2)
        self.assertIn("config.json", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
