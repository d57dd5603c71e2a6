"""cohort dpo against transformers with the loss of TRL's DPOTrainer, word for word: loss, metrics and gradient of a step in
which the policy has left the reference.

COHORT=build/cohort python tests/python/test_dpo.py
"""

import os
import pathlib
import subprocess
import tempfile
import unittest
from types import SimpleNamespace

import make_models
import torch
import transformers
import trl_preferences
from comparing import read_lines, write_lines

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
FAMILIES = ("llama", "qwen3", "gemma2", "qwen3-moe")
GRADIENT_TOLERANCE = 3e-5  # of a tensor's largest gradient; float32 against float32
ROUNDING = 3e-7  # of weights around 1, from whose difference the gradient is taken
WORDS = ["the sum of", "the number is", "question", "answer", "so", "numbers"]
PAIRS = [
    {
        "prompt": f"{WORDS[i % 6]} {i} +",
        "chosen": f" {i} {WORDS[(i + 1) % 6]}",
        "rejected": f" {9 - i} {WORDS[(i + 2) % 6]} {i}",
    }
    for i in range(8)
]
PAIRS_PER_STEP = 4


class WithLogprobs:
    """A model of transformers that gives what TRL's fused head gives."""

    def __init__(self, model):
        self.model = model

    def __call__(self, input_ids, attention_mask, labels, **_):
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask).logits[:, :-1]
        every = torch.log_softmax(logits, -1)
        chosen = every.gather(-1, input_ids[:, 1:, None]).squeeze(-1)
        return SimpleNamespace(
            log_probs=torch.where(labels[:, 1:] != -100, chosen, 0.0),
            entropy=-(every.exp() * every).sum(-1),
            mean_logits=logits.mean(-1).detach(),
            is_top1=every.argmax(-1) == input_ids[:, 1:],
        )


def batch_of(rows, encode):
    """The batch of DataCollatorForPreference: chosen rows before rejected ones, padded on the right."""
    ids, masks = [], []
    for name in ("chosen", "rejected"):
        for row in rows:
            prompt, completion = encode(row["prompt"]), encode(row[name]) + [0]
            ids.append(torch.tensor(prompt + completion))
            masks.append(torch.tensor([0] * len(prompt) + [1] * len(completion)))
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(ids, batch_first=True, padding_value=1), pad(masks, batch_first=True)


class DpoTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="cohort-dpo-")))

    def train(self, start, steps, *options):
        """Without moments an update moves a weight by g / (|g| + 1) times the rate."""
        write_lines(self.folder / "rows.jsonl", PAIRS)
        recipe = self.folder / "recipe.toml"
        recipe.write_text(f"""
            [model]
            dtype = "float32"
            [data]
            shuffle_dataset = false
            [optimizer]
            lr_scheduler_type = "constant"
            learning_rate = 1
            adam_beta1 = 0
            adam_beta2 = 0
            adam_epsilon = 1
            max_grad_norm = 0
            [train]
            max_steps = {steps}
            pairs_per_step = {PAIRS_PER_STEP}
            tokens_per_microbatch = 30
            """)
        run = self.folder / f"run-{steps}"
        places = ("--model.path", start, "--data.path", self.folder / "rows.jsonl", "--run-dir", run)
        command = [PROGRAM, "dpo", recipe, *places, *options]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return run

    def check(self, family, **settings):
        start = self.folder / "start"
        config = make_models.make_config(make_models.CASES[family], pad_token_id=None)
        make_models.save(make_models.make_model(config, 1), start)
        options = [text for key, value in settings.items() for text in (f"--{key}", value)]
        is_free = settings.pop("reference_free", None) == "true"
        left, after = self.train(start, 1, *options), self.train(start, 2, *options)
        reference, policy, final = (
            make_models.load(folder, torch.float32) for folder in (start, left / "final", after / "final")
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(start)
        ids, mask = batch_of(
            PAIRS[PAIRS_PER_STEP:], lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
        )
        loss, figures = trl_preferences.loss(
            WithLogprobs(policy), None if is_free else WithLogprobs(reference), ids, mask, **settings
        )
        loss.backward()
        metrics = read_lines(after / "metrics.jsonl")[1]
        self.assertAlmostEqual(metrics["loss"], loss.item(), delta=1e-5 * max(1, abs(loss.item())))
        for name in (
            "entropy",
            "rewards/chosen",
            "rewards/rejected",
            "rewards/accuracies",
            "rewards/margins",
        ):
            self.assertAlmostEqual(metrics[name], figures[name], delta=2e-4, msg=name)
        for name in ("logps/chosen", "logps/rejected"):
            self.assertAlmostEqual(metrics[name], figures[name], delta=2e-3, msg=name)
        self.assertGreater(abs(figures["rewards/margins"]), 1e-3)
        self.check_gradient(policy, final, loss.item(), (family, settings))

    def check_gradient(self, policy, final, loss, what):
        worst, after = 0.0, final.state_dict()
        for name, weight in policy.named_parameters():
            moved = weight.detach().double() - after[name].double()
            ours, theirs = moved / (1 - moved.abs()), weight.grad.double()
            largest = theirs.abs().max().item()
            self.assertGreater(largest, 0, name)
            worst = max(worst, max(0.0, (ours - theirs).abs().max().item() - ROUNDING) / largest)
        print(f"{what}: loss {loss:.4f}, largest error of a gradient {worst:.2g} of the largest")
        self.assertLess(worst, GRADIENT_TOLERANCE)

    def test_families(self):
        for family in FAMILIES:
            for loss_type in ("sigmoid", "ipo"):
                with self.subTest(family=family, loss_type=loss_type):
                    self.setUp()
                    self.check(family, loss_type=loss_type)

    def test_losses(self):
        for settings in (
            {"loss_type": "sigmoid_norm", "beta": 2.0},
            {"loss_type": "hinge"},
            {"loss_type": "robust", "label_smoothing": 0.2},
            {"ld_alpha": 0.3},
            {"reference_free": "true"},
        ):
            with self.subTest(**settings):
                self.setUp()
                self.check("qwen3", **settings)


if __name__ == "__main__":
    unittest.main(verbosity=2)
