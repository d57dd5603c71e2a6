"""`cohort score` and models written by Cohort against transformers, on small random models (see make_models.py).

COHORT=build/cohort python tests/python/test_score.py
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

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
FLOAT32_TOLERANCE = 2e-5


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def make_rows():
    """Prompt lengths around tile and page edges, completions from one token on."""
    generator = torch.Generator().manual_seed(11)

    def draw(count):
        return torch.randint(0, make_models.VOCAB_SIZE, (count,), generator=generator).tolist()

    lengths = [(1, 1), (1, 40), (5, 2), (16, 16), (17, 31), (63, 1), (64, 64), (65, 7), (130, 90)]
    return [
        {"prompt_ids": draw(prompt), "completion_ids": draw(completion)} for prompt, completion in lengths
    ]


def reference_logprobs(folder, rows, dtype, temperature=1.0):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    result = []
    for row in rows:
        prompt, completion = row["prompt_ids"], row["completion_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([prompt + completion])).logits[0].float() / temperature
        every = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)
        result.append(every.gather(1, torch.tensor(completion)[:, None])[:, 0])
    return result


def differences(left, right):
    return torch.cat([a - b for a, b in zip(left, right, strict=True)]).abs()


class ScoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cohort-score-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        make_models.make_models(cls.folder)
        cls.rows = make_rows()
        write_lines(cls.folder / "rows.jsonl", cls.rows)

    def cohort(self, *arguments):
        result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def score(self, model, *options):
        output = self.folder / "scores.jsonl"
        self.cohort(
            "score", "--model", model, "--input", self.folder / "rows.jsonl", "--output", output, *options
        )
        lines = read_lines(output)
        self.assertEqual(len(lines), len(self.rows))
        for line, row in zip(lines, self.rows, strict=True):
            self.assertEqual(len(line["logprobs"]), len(row["completion_ids"]))
        return [torch.tensor(line["logprobs"]) for line in lines]

    def test_float32_agrees_with_transformers(self):
        for family in make_models.FAMILIES:
            for temperature in (1.0, 0.7):
                with self.subTest(family=family, temperature=temperature):
                    folder = self.folder / family
                    own = self.score(folder, "--dtype", "float32", "--temperature", temperature)
                    reference = reference_logprobs(folder, self.rows, torch.float32, temperature)
                    largest = differences(own, reference).max().item()
                    print(f"{family}, float32, temperature {temperature}: largest difference {largest:.2g}")
                    self.assertLess(largest, FLOAT32_TOLERANCE)

    def test_both_spellings_and_shards_give_the_same_bits(self):
        for family in make_models.FAMILIES:
            with self.subTest(family=family):
                new = self.score(self.folder / family, "--dtype", "float32")
                old = self.score(self.folder / f"{family}-v4", "--dtype", "float32")
                self.assertEqual(differences(new, old).max().item(), 0.0)

    def test_bfloat16_is_as_close_to_float32_as_transformers(self):
        for family in make_models.FAMILIES:
            with self.subTest(family=family):
                folder = self.folder / family
                exact = reference_logprobs(folder, self.rows, torch.float32)
                theirs = (
                    differences(reference_logprobs(folder, self.rows, torch.bfloat16), exact).mean().item()
                )
                ours = differences(self.score(folder, "--dtype", "bfloat16"), exact).mean().item()
                print(f"{family}, bfloat16: mean error {ours:.3g}, that of transformers {theirs:.3g}")
                self.assertLessEqual(ours, theirs)

    def test_a_model_written_by_cohort_loads_in_transformers(self):
        """One supervised step at learning rate 0 reads a model and writes the same one."""
        write_lines(self.folder / "sft.jsonl", [{"prompt": "the sum", "completion": " is the answer"}] * 4)
        for family in make_models.FAMILIES:
            for spelling in ("", "-v4"):
                with self.subTest(family=family + spelling):
                    self.check_round_trip(family + spelling)

    def check_round_trip(self, name):
        source, run = self.folder / name, self.folder / f"run-{name}"
        recipe = self.folder / "sft.toml"
        recipe.write_text(
            f'model = {{ path = "{source}", dtype = "float32" }}\n'
            f'data = {{ path = "{self.folder / "sft.jsonl"}" }}\n'
            f"optimizer = {{ learning_rate = 0.0 }}\n"
            f'train = {{ max_steps = 1 }}\nrun = {{ dir = "{run}" }}\n'
        )
        self.cohort("sft", recipe)
        final = run / "final"
        before = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).state_dict()
        model = transformers.AutoModelForCausalLM.from_pretrained(final, dtype=torch.float32)
        after = model.state_dict()
        self.assertEqual(before.keys(), after.keys())
        for key in before:
            self.assertTrue(torch.equal(before[key], after[key]), key)
        config = json.loads((final / "config.json").read_text())
        self.assertEqual(config["cohort_note"], make_models.EXTRA_KEY["cohort_note"])
        theirs = reference_logprobs(final, self.rows, torch.float32)
        self.assertLess(differences(theirs, self.score(final, "--dtype", "float32")).max(), FLOAT32_TOLERANCE)
        tokenizer = transformers.AutoTokenizer.from_pretrained(final)
        self.assertEqual(tokenizer.decode(tokenizer("the sum é")["input_ids"]), "the sum é")


if __name__ == "__main__":
    unittest.main(verbosity=2)
