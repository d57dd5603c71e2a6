"""Reward models as objects and with tokenizers of their own, and coroutines, as rewards of `GRPOTrainer`.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_reward_models.py
"""

import asyncio
import json
import os
import pathlib
import threading
import unittest

import torch
from trainer_case import TrainerTest, hashed
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer


class RewardModelTest(TrainerTest):
    def made(self, seed=1):
        config = AutoConfig.from_pretrained(self.model, num_labels=1, pad_token_id=0)
        config._name_or_path = ""
        torch.manual_seed(seed)
        return AutoModelForSequenceClassification.from_config(config)

    def saved(self, name="judge", seed=1, with_tokenizer=True):
        path = os.path.join(self.output, name)
        self.made(seed).save_pretrained(path)
        if with_tokenizer:
            AutoTokenizer.from_pretrained(self.model).save_pretrained(path)
        return path

    def other_tokenizer(self):
        """One that reads every text as the same tokens, so that a model that uses it gives one score to all."""
        path = pathlib.Path(self.output, "blind")
        AutoTokenizer.from_pretrained(self.model).save_pretrained(path)
        file = path / "tokenizer.json"
        content = json.loads(file.read_text())
        content["normalizer"] = {"type": "Replace", "pattern": {"Regex": "[\\s\\S]+"}, "content": "a"}
        file.write_text(json.dumps(content))
        return AutoTokenizer.from_pretrained(path)

    def reward_stds(self, functions, tokenizers):
        trainer = self.trainer(
            functions, output_dir=os.path.join(self.output, f"run-{len(os.listdir(self.output))}"), max_steps=1,
            more={"reward_processing_classes": tokenizers},
        )  # fmt: skip
        trainer.train()
        row = self.metrics(trainer)[0]
        return [row[f"rewards/{name}/std"] for name in trainer.reward_func_names]

    def test_a_tokenizer_for_each_model(self):
        paths, blind = [self.saved("one"), self.saved("two", 2)], self.other_tokenizer()
        trainer = self.trainer(paths, more={"reward_processing_classes": [blind, blind]})
        self.assertEqual(len(trainer.reward_processing_classes), 2)
        self.assertTrue(all(std > 1e-3 for std in self.reward_stds(paths, None)))
        one, two = self.reward_stds(paths, [None, blind])
        self.assertGreater(one, 1e-3)
        self.assertLess(two, 1e-6, "the given tokenizer is read, and not the model's")

    def test_one_tokenizer_for_one_model(self):
        blind = self.other_tokenizer()
        trainer = self.trainer(self.saved(), more={"reward_processing_classes": blind})
        self.assertEqual(trainer.reward_processing_classes, [blind])
        trainer.train()
        self.assertLess(self.metrics(trainer)[0]["rewards/judge/std"], 1e-6)
        inputs = pathlib.Path(trainer.args.output_dir, "inputs")
        self.assertIn(f'path = "{inputs}/reward-judge"', (inputs / "recipe.toml").read_text())

    def test_functions_have_none(self):
        path, tokenizer = self.saved(), AutoTokenizer.from_pretrained(self.model)
        trainer = self.trainer([hashed, path], more={"reward_processing_classes": [None, tokenizer]})
        trainer.train()
        self.assertIn("rewards/hashed/mean", self.metrics(trainer)[0])

    def test_a_wrong_number_of_tokenizers(self):
        paths, tokenizer = [self.saved("one"), self.saved("two")], AutoTokenizer.from_pretrained(self.model)
        for given in (tokenizer, [tokenizer], [tokenizer] * 3):
            with self.assertRaisesRegex(ValueError, "must match the number of reward functions, 2"):
                self.trainer(paths, more={"reward_processing_classes": given})

    def test_model_objects(self):
        path = self.saved()
        loaded = AutoModelForSequenceClassification.from_pretrained(path)
        trainer = self.trainer([path, loaded], max_steps=2)
        self.assertEqual(trainer.reward_func_names, ["judge", "judge_2"])
        trainer.train()
        for row in self.metrics(trainer):
            self.assertEqual(row["rewards/judge/mean"], row["rewards/judge_2/mean"])
            self.assertGreater(row["rewards/judge/std"], 1e-3)

    def test_a_model_object_that_was_made(self):
        with self.assertRaisesRegex(
            ValueError, "a LlamaForSequenceClassification that was not loaded by name"
        ):
            self.trainer(self.made())
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        trainer = self.trainer(self.made(), more={"reward_processing_classes": tokenizer}, max_steps=1)
        trainer.train()
        self.assertEqual(trainer.reward_func_names, ["LlamaForSequenceClassification"])


class AsyncTest(TrainerTest):
    """Coroutines of a step overlap: each waits for an event that the other one sets."""

    def pair(self, order):
        events = {}

        def event(name):
            return events.setdefault(
                (threading.get_ident(), id(asyncio.get_running_loop()), name), asyncio.Event()
            )

        async def first(prompts, completions, **columns):
            order.append("first begins")
            await asyncio.wait_for(event("second began").wait(), 20)
            order.append("first ends")
            event("first ended").set()
            return hashed(prompts, completions)

        async def second(completions, **columns):
            order.append("second begins")
            event("second began").set()
            await asyncio.wait_for(event("first ended").wait(), 20)
            order.append("second ends")
            return [1.0] * len(completions)

        return first, second

    def check(self, trainer, order):
        self.assertEqual(order[:4], ["first begins", "second begins", "first ends", "second ends"])
        self.assertEqual(len(order), 4 * trainer.state.global_step)
        self.assertEqual([row["rewards/second/mean"] for row in self.metrics(trainer)], [1.0] * 3)

    def test_coroutines_of_a_step_overlap(self):
        order = []
        first, second = self.pair(order)
        trainer = self.trainer([first, hashed, second])
        trainer.train()
        self.check(trainer, order)
        for row in self.metrics(trainer):
            self.assertEqual(row["rewards/first/mean"], row["rewards/hashed/mean"])

    def test_in_a_running_loop_as_in_a_notebook(self):
        order = []
        trainer = self.trainer([*self.pair(order)])

        async def cell():
            trainer.train()

        asyncio.run(cell())
        self.check(trainer, order)

    def test_each_one_has_its_own_exception(self):
        async def good(completions, **columns):
            return [1.0] * len(completions)

        async def bad(completions, **columns):
            raise ZeroDivisionError("of the user")

        trainer = self.trainer([bad, good], reward_error="mask")
        trainer.train()
        row = self.metrics(trainer)[0]
        self.assertEqual((row["rewards/bad/error"], row["rewards/good/error"]), (8.0, 0.0))
        with self.assertRaisesRegex(ZeroDivisionError, "of the user"):
            self.trainer([good, bad], output_dir=os.path.join(self.output, "b")).train()

    def test_an_object_whose_call_is_a_coroutine(self):
        class Judge:
            async def __call__(self, completions, **columns):
                await asyncio.sleep(0)
                return [2.0] * len(completions)

        trainer = self.trainer([Judge(), Judge(), lambda completions, **columns: self.later(completions)])
        trainer.train()
        row = self.metrics(trainer)[0]
        means = [row[f"rewards/{name}/mean"] for name in trainer.reward_func_names]
        self.assertEqual(means, [2.0, 2.0, 3.0])

    async def later(self, completions):
        return [3.0] * len(completions)


if __name__ == "__main__":
    unittest.main()
