"""Callbacks, evaluations, checkpoints and settings of `GRPOTrainer`.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_loop.py
"""

import logging
import os
import pathlib
import unittest

import torch
from tiny_run import ROOT
from trainer_case import TrainerTest
from transformers import TrainerCallback

from cohort import GRPOConfig


class LoopTest(TrainerTest):
    def test_callbacks_see_every_event(self):
        events = []

        class Watch(TrainerCallback):
            pass

        for event in (
            "train_begin",
            "epoch_begin",
            "step_begin",
            "step_end",
            "epoch_end",
            "log",
            "save",
            "train_end",
        ):

            def note(self, args, state, control, event=event, **values):
                events.append((event, state.global_step))

            setattr(Watch, "on_" + event, note)
        trainer = self.trainer(max_steps=2, save_strategy="steps", save_steps=2, more={"callbacks": [Watch]})
        trainer.train()
        expected = [
            ("train_begin", 0), ("epoch_begin", 0), ("step_begin", 0), ("step_end", 1), ("log", 1), ("step_begin", 1),
            ("step_end", 2), ("log", 2), ("save", 2), ("epoch_end", 2), ("log", 2), ("train_end", 2),
        ]  # fmt: skip
        self.assertEqual(events, expected)

    def test_callbacks_stop_save_and_evaluate(self):
        class Director(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                control.should_save = state.global_step == 1
                control.should_evaluate = state.global_step == 2
                control.should_training_stop = state.global_step == 2

        trainer = self.trainer(max_steps=9, more={"callbacks": [Director()], "eval_dataset": self.rows[:2]})
        trainer.train()
        self.assertEqual(trainer.state.global_step, 2)
        steps = sorted(os.listdir(os.path.join(trainer.args.output_dir, "checkpoints")))
        self.assertEqual(steps, ["step-00000001", "step-00000002"])
        self.assertIn("eval_reward", self.metrics(trainer)[1])
        self.assertTrue(any("eval_reward" in line for line in trainer.state.log_history))

    def test_evaluates(self):
        trainer = self.trainer(
            eval_strategy="steps", eval_steps=2, per_device_eval_batch_size=8, num_generations_eval=2,
            more={"eval_dataset": self.rows[:3]},
        )  # fmt: skip
        trainer.train()
        evaluated = [line for line in trainer.state.log_history if "eval_reward" in line]
        self.assertEqual([line["step"] for line in evaluated], [2, 3], "and in the last step")
        self.assertIn("eval_rewards/hashed/mean", evaluated[0])
        self.assertIn("eval_reward", trainer.evaluate())

    def test_evaluates_at_the_start(self):
        trainer = self.trainer(
            eval_on_start=True, eval_strategy="steps", eval_steps=9, per_device_eval_batch_size=4,
            more={"eval_dataset": self.rows[:3]},
        )  # fmt: skip
        trainer.train()
        self.assertEqual(
            [line["step"] for line in trainer.state.log_history if "eval_reward" in line], [0, 3]
        )

    def test_evaluates_before_training(self):
        trainer = self.trainer(more={"eval_dataset": self.rows[:3]})
        before = trainer.evaluate()
        self.assertIn("eval_reward", before)
        trainer.train()
        self.assertEqual(trainer.state.global_step, 3)

    def test_keeps_checkpoints_and_goes_on(self):
        whole = self.trainer(output_dir=os.path.join(self.output, "whole"), max_steps=4)
        whole.train()
        first = self.trainer(max_steps=4, save_strategy="steps", save_steps=1, save_total_limit=2)

        class Stop(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                control.should_training_stop = state.global_step == 2

        first.add_callback(Stop)
        first.train()
        del first
        second = self.trainer(max_steps=4, save_strategy="steps", save_steps=1, save_total_limit=2)
        newest = os.path.join(second.args.output_dir, "checkpoints", "step-00000002")
        second.train(resume_from_checkpoint=newest)
        self.assertEqual(len(os.listdir(os.path.join(second.args.output_dir, "checkpoints"))), 2)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            one, other = (pathlib.Path(each.args.output_dir) / name for each in (whole, second))
            self.assertEqual(one.read_bytes(), other.read_bytes(), name)

    def test_an_interrupt_leaves_a_checkpoint(self):
        class Interrupt(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                if state.global_step == 2:
                    raise KeyboardInterrupt

        trainer = self.trainer(more={"callbacks": [Interrupt()]})
        self.assertRaises(KeyboardInterrupt, trainer.train)
        self.assertTrue(os.path.isdir(os.path.join(trainer.args.output_dir, "checkpoints", "step-00000002")))
        self.assertEqual([row["step"] for row in self.metrics(trainer)], [1, 2])
        whole = self.trainer(output_dir=os.path.join(self.output, "whole"))
        whole.train()
        self.trainer().train(resume_from_checkpoint=True)
        for name in ("metrics.jsonl", "completions.jsonl", "final/model.safetensors"):
            one, other = (pathlib.Path(each.args.output_dir) / name for each in (whole, trainer))
            self.assertEqual(one.read_bytes(), other.read_bytes(), name)

    def test_refuses_a_run_that_is_there(self):
        self.trainer(max_steps=1).train()
        with self.assertRaisesRegex(ValueError, "holds a run already"):
            self.trainer(max_steps=1).train()

    def test_saves_models_and_state(self):
        trainer = self.trainer(max_steps=1)
        trainer.train()
        trainer.save_model()
        trainer.save_state()
        for name in ("model.safetensors", "config.json", "tokenizer.json", "trainer_state.json"):
            self.assertTrue(os.path.isfile(os.path.join(trainer.args.output_dir, name)), name)


class SettingsTest(TrainerTest):
    def test_every_setting_of_trl_is_in_one_list(self):
        import ast
        import dataclasses

        from cohort.trainer.settings import ACTS, IGNORED, REFUSED
        from transformers import TrainingArguments
        from trl_source import parse

        tree = parse("grpo_config.py")
        names = {field.name for field in dataclasses.fields(TrainingArguments)}
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
        ours = {field.name for field in dataclasses.fields(GRPOConfig)}
        self.assertEqual(names - ours, set(), "not in our GRPOConfig")
        lists = [name for names in ACTS.values() for name in names] + [*IGNORED, *REFUSED]
        self.assertEqual(sorted(lists), sorted(ours))

    def test_the_page_is_the_lists(self):
        from cohort.trainer.settings import page

        self.assertEqual((ROOT / "docs/python/trainer-settings.md").read_text(), page())

    def test_what_is_refused(self):
        for change, text in (
            ({"fp16": True, "bf16": False}, "fp16 = True is not supported: use bf16"),
            ({"optim": "sgd"}, "the engine has AdamW"),
            ({"repetition_penalty": 1.1}, "repetition_penalty = 1.1 is not supported"),
            ({"generation_kwargs": {"num_beams": 2}}, r"generation_kwargs\['num_beams'\] is not supported"),
            ({"recipe": {"preset": "dapo"}}, "'preset' is no key of a recipe"),
            ({"num_generations": 1}, "a group needs at least 2"),
            ({"num_generations": 3}, "must be divisible by num_generations"),
            ({"eval_strategy": "steps", "eval_steps": 1}, "there is no eval_dataset"),
            ({"reward_error": "ignore"}, "must be 'raise' or 'mask'"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.trainer(**change).train()

    def test_what_has_no_meaning_is_named(self):
        with self.assertLogs("cohort.trainer", logging.WARNING) as logs:
            self.trainer(use_vllm=True, gradient_checkpointing=False)
        self.assertEqual(
            [record.getMessage().split(":")[0] for record in logs.records],
            [
                "use_vllm has no effect",
                "gradient_checkpointing has no effect",
            ],
        )

    def test_arguments_that_are_refused(self):
        for more, text in (
            ({"optimizers": (torch.optim.SGD([torch.zeros(1)], 1.0), None)}, "optimizers is not supported"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.trainer(more=more)
        with self.assertRaisesRegex(TypeError, "model is a int"):
            self.trainer(model=3)
        with self.assertRaises(OSError):
            self.trainer(model="/no/such/model")


if __name__ == "__main__":
    unittest.main()
