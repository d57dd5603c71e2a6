"""cohort reward-train against transformers with the losses of TRL's RewardTrainer and PRMTrainer, and the models that it
writes against transformers' own scores.

COHORT=build/cohort python tests/python/test_reward_models.py
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

import make_models
import torch
import transformers
from comparing import read_lines, write_lines

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
FAMILIES = ("llama", "qwen3", "gemma2", "qwen3-moe")
SCORE_TOLERANCE = 2e-5
GRADIENT_TOLERANCE = 2e-5  # of a tensor's largest gradient; float32 against float32
ROUNDING = 3e-7  # of weights around 1, from whose difference the gradient is taken
HEADS = {
    "model": transformers.AutoModelForSequenceClassification,
    "process": transformers.AutoModelForTokenClassification,
}
WORDS = ["the sum of", "the number is", "question", "answer", "so", "numbers"]
PAIRS = [
    {
        "prompt": f"{WORDS[i % 6]} {i} +",
        "chosen": f" {i} {WORDS[(i + 1) % 6]}",
        "rejected": f" {9 - i} {WORDS[(i + 2) % 6]} {i}",
        "margin": 0.25 * (i % 3),
    }
    for i in range(12)
]
STEPS = [
    {
        "prompt": f"{WORDS[i % 6]} {i}:",
        "completions": [f"{WORDS[(i + k) % 6]} {k * i}" for k in range(1 + i % 3)],
        "labels": [(i + k) % 3 != 0 for k in range(1 + i % 3)],
    }
    for i in range(12)
]
ROWS = {"model": PAIRS, "process": STEPS}
ROWS_PER_STEP = 4


def cohort(*arguments):
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result


def pair_loss(model, encode, rows, center):
    """The loss of RewardTrainer: EOS behind both texts, one sequence at a time, the mean over the pairs."""
    losses, rewards = [], []
    for row in rows:
        both = []
        for name in ("chosen", "rejected"):
            ids = encode(row["prompt"]) + encode(row[name]) + [0]
            both.append(model(torch.tensor([ids])).logits.squeeze(-1))
        lead = both[0] - both[1]
        loss = -torch.nn.functional.logsigmoid(lead - row["margin"])
        losses.append(loss + center * (both[0] + both[1]) ** 2)
        rewards.append(torch.cat(both).detach())
    rewards = torch.stack(rewards)
    lead = rewards[:, 0] - rewards[:, 1]
    return torch.stack(losses).mean(), {
        "accuracy": (lead > 0).double().mean().item(),
        "margin": lead.mean().item(),
        "min_reward": rewards.min().item(),
        "mean_reward": rewards.mean().item(),
        "max_reward": rewards.max().item(),
    }


def step_loss(model, encode, rows, _):
    """The loss of PRMTrainer: cross-entropy at the last token of each step's separator, all others ignored."""
    losses, right, rewards = [], [], []
    for row in rows:
        ids = encode(row["prompt"])
        ends = []
        for step in row["completions"]:
            ids = ids + encode(step) + encode("\n")
            ends.append(len(ids) - 1)
        logits = model(torch.tensor([ids])).logits[0, ends]
        labels = torch.tensor([int(label) for label in row["labels"]])
        losses += list(torch.nn.functional.cross_entropy(logits, labels, reduction="none"))
        right += (logits.argmax(-1) == labels).tolist()
        rewards += logits.detach().softmax(-1)[:, 1].tolist()
    return torch.stack(losses).mean(), {
        "accuracy": sum(right) / len(right),
        "min_reward": min(rewards),
        "mean_reward": sum(rewards) / len(rewards),
        "max_reward": max(rewards),
    }


LOSSES = {"model": pair_loss, "process": step_loss}


def recovered_gradients(before, after):
    """AdamW's first step with epsilon 1 and rate 1 moves a weight by g / (|g| + 1)."""
    after = after.state_dict()
    for name, weight in before.state_dict().items():
        moved = weight.double() - after[name].double()
        yield name, moved / (1 - moved.abs())


class RewardModelsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="cohort-rewards-")))
        self.center = 0.0

    def start(self, family, head, num_labels):
        """A random model with a head, whose pad token stands nowhere in the data."""
        config = make_models.make_config(
            make_models.CASES[family], num_labels=num_labels, pad_token_id=make_models.VOCAB_SIZE - 1
        )
        model = make_models.make_model(config, 1, HEADS[head])
        with torch.no_grad():
            model.score.weight.normal_(std=0.5)
        make_models.save(model, self.folder / "start")
        return self.folder / "start"

    def train(self, head, start, *options, steps=1):
        data = self.folder / "rows.jsonl"
        write_lines(data, ROWS[head])
        run = self.folder / "run"
        recipe = self.folder / "recipe.toml"
        recipe.write_text(f"""
            [model]
            dtype = "float32"
            [head]
            type = "{head}"
            [data]
            shuffle_dataset = false
            [optimizer]
            lr_scheduler_type = "constant"
            max_grad_norm = 0
            [train]
            max_steps = {steps}
            rows_per_step = {ROWS_PER_STEP}
            tokens_per_microbatch = 30
            """)
        places = ("--model.path", start, "--data.path", data, "--run-dir", run)
        cohort("reward-train", recipe, *places, *options)
        return run

    def load(self, head, folder):
        return make_models.load(folder, torch.float32, HEADS[head])

    def encoder(self, folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        return lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]

    def check_gradients(self, family, head):
        start = self.start(family, head, {"model": 1, "process": 2}[head])
        options = ("--learning_rate", 1, "--adam_epsilon", 1)
        if self.center:
            options += ("--center_rewards_coefficient", self.center)
        run = self.train(head, start, *options)
        model = self.load(head, start)
        rows = ROWS[head][:ROWS_PER_STEP]
        loss, figures = LOSSES[head](model, self.encoder(start), rows, self.center)
        loss.backward()
        metrics = read_lines(run / "metrics.jsonl")[0]
        self.assertAlmostEqual(metrics["loss"], loss.item(), delta=1e-5)
        for name, value in figures.items():
            self.assertAlmostEqual(metrics[name], value, delta=1e-5, msg=name)
        gradients = {name: weight.grad for name, weight in model.named_parameters()}
        norm = sum((g.double() ** 2).sum().item() for g in gradients.values()) ** 0.5
        self.assertAlmostEqual(metrics["grad_norm"] / norm, 1, delta=1e-4)
        worst = 0.0
        for name, ours in recovered_gradients(self.load(head, start), self.load(head, run / "final")):
            theirs = gradients[name].double()
            largest = theirs.abs().max().item()
            self.assertGreater(largest, 0, name)
            error = max(0.0, (ours - theirs).abs().max().item() - ROUNDING)
            worst = max(worst, error / largest)
        print(
            f"{family}, {head}: loss {loss.item():.4f}, largest error of a gradient {worst:.2g} of the largest"
        )
        self.assertLess(worst, GRADIENT_TOLERANCE)

    def test_gradients_of_pairs(self):
        for family in FAMILIES:
            with self.subTest(family=family):
                self.setUp()
                self.check_gradients(family, "model")

    def test_gradients_of_pairs_with_centred_rewards(self):
        self.center = 0.1
        self.check_gradients("qwen3", "model")

    def test_gradients_of_steps(self):
        for family in FAMILIES:
            with self.subTest(family=family):
                self.setUp()
                self.check_gradients(family, "process")

    def scores(self, head, folder, texts):
        """What `cohort verify` gives, with the model's own tokenizer."""
        rewards = self.folder / "rewards.toml"
        rewards.write_text(f'[[reward]]\nname = "{head}"\npath = "{folder}"\n')
        rows = self.folder / "texts.jsonl"
        write_lines(rows, texts)
        cohort(
            "verify", "--reward-config", rewards, "--input", rows, "--output", self.folder / "scores.jsonl"
        )
        lines = read_lines(self.folder / "scores.jsonl")
        self.assertEqual({line["status"] for line in lines}, {"ok"})
        return lines

    def test_a_new_head_is_learnt_and_loads_in_transformers(self):
        for family in ("llama", "qwen3", "gemma2"):
            for head in HEADS:
                with self.subTest(family=family, head=head):
                    self.setUp()
                    config = make_models.make_config(make_models.CASES[family], pad_token_id=None)
                    make_models.save(make_models.make_model(config, 2), self.folder / "base")
                    run = self.train(head, self.folder / "base", "--learning_rate", 1e-3, steps=30)
                    metrics = read_lines(run / "metrics.jsonl")
                    self.assertLess(metrics[-1]["loss"], 0.5 * metrics[0]["loss"])
                    self.check_written(head, run / "final")

    def check_written(self, head, folder):
        model = self.load(head, folder)
        encode = self.encoder(folder)
        if head == "model":
            texts = [{"prompt": row["prompt"], "completion": row["chosen"]} for row in PAIRS]
        else:
            texts = [{"prompt": row["prompt"], "completion": "\n".join(row["completions"])} for row in STEPS]
        lines = self.scores(head, folder, texts)
        for text, line in zip(texts, lines, strict=True):
            ids = encode(text["prompt"]) + encode(text["completion"])
            with torch.no_grad():
                if head == "model":
                    expected = [model(torch.tensor([ids + [0]])).logits.item()]
                    scores = [line["score"]]
                else:
                    logits = model(torch.tensor([ids + encode("\n")])).logits[0]
                    ends = [i for i, token in enumerate(ids + encode("\n")) if [token] == encode("\n")]
                    expected = logits.softmax(-1)[ends, 1].tolist()
                    scores = [step["score"] for step in line["steps"]]
                    self.assertEqual(line["score"], min(scores))
            self.assertEqual(len(scores), len(expected))
            for ours, theirs in zip(scores, expected, strict=True):
                self.assertAlmostEqual(ours, theirs, delta=SCORE_TOLERANCE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
