"""TRL's own callbacks, given to our trainer as they are: docs/python/trl-tests-rewards.md.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trl_callbacks.py
"""

import copy
import io
import json
import os
import pathlib
import unittest
from unittest import mock

import torch
from datasets import Dataset
from trainer_case import TrainerTest
from transformers import AutoModelForCausalLM, GenerationConfig, TrainerCallback
from trl import BEMACallback, LogCompletionsCallback, RichProgressCallback, SyncRefModelCallback


class Weights(TrainerCallback):
    """The parameters before training and after each update."""

    def __init__(self):
        self.seen = []

    def on_train_begin(self, args, state, control, model, **values):
        self.seen.append([one.detach().clone() for one in model.parameters()])

    on_step_end = on_train_begin


class CallbackTest(TrainerTest):
    def train(self, *callbacks, **changes):
        trainer = self.trainer(more={"callbacks": list(callbacks)}, **changes)
        trainer.train()
        return trainer

    def bema_of(self, weights, alpha_power=0.2, ema_power=0.5, lag=10):
        """arXiv:2508.00180, algorithm 1, with an update after each step."""
        start, average = weights[0], [one.clone() for one in weights[0]]
        for step, now in enumerate(weights[1:], 1):
            beta, alpha = (lag + step) ** -ema_power, (lag + step) ** -alpha_power
            average = [(1 - beta) * old + beta * new for old, new in zip(average, now)]
            biased = [mean + alpha * (new - first) for mean, new, first in zip(average, now, start)]
        return biased

    def test_bema_averages_the_engines_weights(self):
        weights = Weights()
        trainer = self.train(BEMACallback(update_freq=1), weights, learning_rate=1e-2)
        model = AutoModelForCausalLM.from_pretrained(os.path.join(trainer.args.output_dir, "bema"))
        expected = self.bema_of(weights.seen)
        for ours, wanted, last in zip(model.parameters(), expected, weights.seen[-1], strict=True):
            torch.testing.assert_close(ours.detach(), wanted)
            self.assertFalse(torch.equal(ours, last))

    def test_bema_updates_as_often_as_asked(self):
        for place, (settings, steps) in enumerate(
            (
                ({"update_freq": 2}, [2, 4, 6]),
                ({"update_freq": 3}, [3, 6]),
                ({"update_freq": 2, "update_after": 3}, [5, 7]),
            )
        ):
            callback = BEMACallback(**settings)
            with mock.patch.object(callback, "_update_bema_weights") as update:
                self.train(callback, max_steps=7, output_dir=os.path.join(self.output, str(place)))
            self.assertEqual([call.args[0] for call in update.call_args_list], steps)

    def test_bema_without_bias_or_average(self):
        for place, settings in enumerate(({"bias_power": 0.0}, {"ema_power": 0.0})):
            self.train(
                BEMACallback(update_freq=2, **settings), output_dir=os.path.join(self.output, str(place))
            )

    def test_log_completions(self):
        import wandb

        rows = Dataset.from_list(self.rows[:4])
        env = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": self.output, "HOME": self.output}
        with mock.patch.dict(os.environ, env):
            trainer = self.trainer(
                report_to="wandb",
                max_steps=2,
                eval_strategy="steps",
                eval_steps=2,
                more={"eval_dataset": rows},
            )
            settings = GenerationConfig(max_new_tokens=5, do_sample=False, pad_token_id=0)
            trainer.add_callback(LogCompletionsCallback(trainer, settings, num_prompts=2))
            trainer.train()
            path = pathlib.Path(wandb.run.dir) / wandb.run.summary.completions["path"]
            wandb.finish()
            wandb.teardown()
        table = json.loads(path.read_text())
        self.assertEqual(table["columns"], ["step", "prompt", "completion"])
        self.assertEqual([row[:2] for row in table["data"]], [["2", one["prompt"]] for one in self.rows[:2]])
        ids = trainer.processing_class(self.rows[0]["prompt"], return_tensors="pt")
        text = trainer.model.generate(**ids, generation_config=settings)[0, ids["input_ids"].shape[1] :]
        self.assertEqual(table["data"][0][2], trainer.processing_class.decode(text, skip_special_tokens=True))

    def test_rich_progress(self):
        with mock.patch("sys.stdout", io.StringIO()) as printed:
            self.train(RichProgressCallback())
        self.assertIn("Training", printed.getvalue())
        self.assertIn("grad_norm", printed.getvalue())

    def test_sync_ref_model(self):
        reference = AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)
        before = copy.deepcopy(reference)
        trainer = self.trainer(ref_model_sync_steps=2, ref_model_mixup_alpha=0.25)
        weights = Weights()
        trainer.add_callback(weights)
        trainer.add_callback(SyncRefModelCallback(reference, trainer.accelerator))
        trainer.train()
        for ours, old, new in zip(
            reference.parameters(), before.parameters(), weights.seen[2], strict=True
        ):  # the second of three updates
            torch.testing.assert_close(ours.detach(), 0.75 * old.detach() + 0.25 * new)


if __name__ == "__main__":
    unittest.main()
