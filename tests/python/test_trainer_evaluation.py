"""Evaluations on other data sets, and the best model, of `GRPOTrainer`.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_evaluation.py
"""

import os
import pathlib
import unittest

import torch
from trainer_case import TrainerTest, hashed, lengths
from transformers import AutoModelForCausalLM, EarlyStoppingCallback, TrainerCallback

import cohort


class OtherDataTest(TrainerTest):
    def evaluated(self, data, **more):
        trainer = self.trainer(lengths, per_device_eval_batch_size=4)
        return trainer, trainer.evaluate(eval_dataset=data, **more)

    def test_kinds_of_data_sets(self):
        from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

        rows = Dataset.from_list(self.rows[:3])
        stream = IterableDataset.from_generator(lambda: iter(self.rows[:3]))
        _, expected = self.evaluated(self.rows[:3])
        self.assertGreater(expected["eval_reward"], 0.0)
        for place, data in enumerate((rows, stream, iter(self.rows[:3]))):
            self.output = os.path.join(self.folder, f"one-{place}")
            trainer, metrics = self.evaluated(data)
            self.assertEqual(metrics, expected, type(data))
            self.assertEqual(trainer.state.log_history[-1]["eval_reward"], expected["eval_reward"])
        for place, kind in enumerate((DatasetDict, IterableDatasetDict, dict)):
            self.output = os.path.join(self.folder, f"several-{place}")
            part = stream if kind is IterableDatasetDict else rows
            _, metrics = self.evaluated(kind({"data1": part, "data2": part}))
            for name in ("data1", "data2"):
                self.assertEqual(metrics[f"eval_{name}_reward"], expected["eval_reward"], kind)

    def test_data_sets_of_a_trainer(self):
        from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

        rows = Dataset.from_list(self.rows[:2])
        stream = IterableDataset.from_generator(lambda: iter(self.rows[:2]))
        found = set()
        for place, data in enumerate(
            (
                rows,
                stream,
                DatasetDict({"a": rows}),
                IterableDatasetDict({"a": stream}),
                {"a": rows},
                {"a": stream},
            )
        ):
            trainer = self.trainer(
                more={"eval_dataset": data}, output_dir=os.path.join(self.output, str(place))
            )
            self.assertIs(trainer.eval_dataset, data)
            found.add(trainer.evaluate()["eval_reward"])
        self.assertEqual(len(found), 1)
        self.assertIsNone(self.trainer().eval_dataset)

    def test_the_prefix_and_the_columns_are_those_of_the_data(self):
        seen = []

        def reward(completions, level, log_metric, trainer_state, **columns):
            seen.append(level)
            log_metric("levels", sum(level))
            return lengths(completions)

        class Watch(TrainerCallback):
            def on_evaluate(self, args, state, control, metrics, **values):
                seen.append(sorted(metrics))

        trainer = self.trainer(
            reward,
            more={"callbacks": [Watch()], "eval_dataset": {"a": self.rows[:2]}},
            num_generations_eval=2,
        )
        metrics = trainer.evaluate([{"prompt": "Add.", "level": 7}], metric_key_prefix="test")
        self.assertEqual(seen, [[7, 7], sorted(metrics)])
        self.assertEqual(metrics["test_levels"], 14.0)
        self.assertIn("test_rewards/reward/mean", metrics)
        self.assertIn("eval_reward", trainer.evaluate("a"), "a name of the trainer's own")
        self.assertEqual(seen[2], [0, 0, 1, 1])
        with self.assertRaisesRegex(ValueError, "has no column 'prompt'"):
            trainer.evaluate([{"question": "Add."}])

    def test_what_a_function_logs_is_the_evaluations(self):
        def reward(completions, level, log_metric, **columns):
            log_metric("level", max(level))
            return lengths(completions)

        data = [{"prompt": "Add.", "level": 7}]
        trainer = self.trainer(reward, more={"eval_dataset": data}, eval_strategy="steps", eval_steps=1)
        trainer.train()
        lines = self.metrics(trainer)
        self.assertEqual([line["eval_level"] for line in lines], [7.0] * 3)
        self.assertTrue(all(line["level"] <= 2.0 for line in lines), lines)
        self.assertEqual(trainer.evaluate()["eval_level"], 7.0)

    def test_leaves_the_run_as_it_is(self):
        class Look(TrainerCallback):
            def on_step_begin(inner, args, state, control, **values):
                self.trainers[-1].evaluate(self.rows[4:6], metric_key_prefix="other")

        self.trainers = []
        for name in ("with", "without"):
            more = {"eval_dataset": self.rows[:3]}
            self.trainers.append(
                self.trainer(
                    output_dir=os.path.join(self.output, name),
                    eval_strategy="steps",
                    eval_steps=2,
                    per_device_eval_batch_size=4,
                    more=more,
                )  # fmt: skip
            )
            if name == "with":
                self.trainers[-1].add_callback(Look())
            self.trainers[-1].train()
        one, other = (pathlib.Path(trainer.args.output_dir) for trainer in self.trainers)
        names = [line for line in self.trainers[0].state.log_history if "other_reward" in line]
        self.assertEqual([line["step"] for line in names], [0, 1, 2])
        for name in (
            "metrics.jsonl",
            "completions.jsonl",
            "final/model.safetensors",
            "best/model.safetensors",
        ):
            self.assertEqual((one / name).read_bytes(), (other / name).read_bytes(), name)
        self.assertFalse(list((one / "inputs").glob("given-*")))


class BestModelTest(TrainerTest):
    """The reward of an evaluation is what a script says, so that it is known which one is the best."""

    def scripted(self, values, metric="reward", **changes):
        left = list(values)

        def reward(prompts, completions, **columns):
            if prompts[0] != "Judge.":
                return hashed(prompts, completions)
            value = left.pop(0)
            return [value] * len(completions)

        settings = {
            "eval_strategy": "steps", "eval_steps": 1, "save_strategy": "steps", "save_steps": 1, "max_steps": len(values),
            "per_device_eval_batch_size": 4, "load_best_model_at_end": True, "metric_for_best_model": metric,
        }  # fmt: skip
        callbacks = changes.pop("callbacks", [])
        return self.trainer(
            reward,
            more={"eval_dataset": [{"prompt": "Judge."}], "callbacks": callbacks},
            **(settings | changes),
        )

    def weights(self, path):
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        return dict(model.named_parameters())

    def test_the_model_is_the_best_one_after_training(self):
        trainer = self.scripted([0.2, 0.9, 0.5])
        trainer.train()
        state, output = trainer.state, trainer.args.output_dir
        self.assertEqual((state.best_metric, state.best_global_step), (0.9, 2))
        self.assertEqual(state.best_model_checkpoint, os.path.join(output, "best"))
        best = self.weights(
            os.path.join(output, "checkpoints", "step-00000003")
        )  # the last one, not the best
        for name, weight in self.weights(state.best_model_checkpoint).items():
            self.assertTrue(torch.equal(weight, trainer.model.get_parameter(name)), name)
        self.assertFalse(all(torch.equal(best[name], one) for name, one in trainer.model.named_parameters()))
        saved = os.path.join(self.output, "saved")
        trainer.save_model(saved)
        for name, weight in self.weights(saved).items():
            self.assertTrue(torch.equal(weight, trainer.model.get_parameter(name)), name)

    def test_without_the_setting_it_is_the_last_one(self):
        trainer = self.scripted([0.9, 0.2], load_best_model_at_end=False)
        trainer.train()
        self.assertEqual((trainer.state.best_metric, trainer.state.best_global_step), (0.9, 1))
        for name, weight in self.final(trainer).items():
            self.assertTrue(torch.equal(weight, trainer.model.get_parameter(name)), name)

    def test_adapters(self):
        from peft import LoraConfig
        from safetensors.torch import load_file

        trainer = self.scripted([0.9, 0.2])
        trainer = type(trainer)(
            self.model, trainer._tables[0]["function"], trainer.args, self.rows, [{"prompt": "Judge."}],
            peft_config=LoraConfig(r=2, target_modules=["q_proj"]),
        )  # fmt: skip
        trainer.train()
        saved = os.path.join(trainer.args.output_dir, "best", "adapter_model.safetensors")
        weights = dict(trainer.model.named_parameters())
        for name, weight in load_file(saved).items():
            own = name.replace("lora_A", "lora_A.default").replace("lora_B", "lora_B.default")
            self.assertTrue(torch.equal(weight, weights[own]), name)

    def test_early_stopping(self):
        trainer = self.scripted([0.2, 0.9, 0.5, 0.4, 1.0], callbacks=[EarlyStoppingCallback(2)])
        trainer.train()
        self.assertEqual((trainer.state.global_step, trainer.state.best_global_step), (4, 2))

    def test_goes_on_with_the_best_of_before(self):
        class Stop(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                control.should_training_stop = state.global_step == 2

        first = self.scripted([0.9, 0.2, 0.5], callbacks=[Stop()])
        first.train()
        del first
        second = self.scripted([0.5], max_steps=3)
        second.train(resume_from_checkpoint=True)
        self.assertEqual((second.state.best_metric, second.state.best_global_step), (0.9, 1))

    def test_saves_the_best_alone(self):
        trainer = self.scripted([0.2, 0.1, 0.9, 0.5], save_strategy="best", save_total_limit=9)
        trainer.train()
        steps = sorted(os.listdir(os.path.join(trainer.args.output_dir, "checkpoints")))
        self.assertEqual(steps, [f"step-0000000{step}" for step in (1, 3, 4)], "and the last step")

    def test_bad_settings(self):
        settings = {"eval_strategy": "steps", "eval_steps": 1, "save_strategy": "steps", "save_steps": 1}
        settings |= {"load_best_model_at_end": True, "per_device_eval_batch_size": 4}
        self.assertEqual(self.args(**settings).metric_for_best_model, "reward")
        for changes, text in (
            ({"metric_for_best_model": "loss"}, "evaluations compute rewards and no loss"),
            ({"greater_is_better": False}, "greater_is_better = False is not supported"),
            ({"save_strategy": "no"}, "save and eval strategy to match"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.args(**(settings | changes))
        trainer = self.scripted([0.5], metric="eval_luck")
        with self.assertRaisesRegex(ValueError, "evaluations have no metric"):
            trainer.train()


class SmallestLossTest(TrainerTest):
    def test_the_best_model_of_a_trainer_with_losses(self):
        args = cohort.SFTConfig(
            os.path.join(self.output, "run"), max_steps=4, per_device_train_batch_size=2, learning_rate=0.05,
            logging_steps=1, bf16=False, report_to="none", disable_tqdm=True, eval_strategy="steps", eval_steps=1,
            save_strategy="steps", save_steps=1, load_best_model_at_end=True,
        )  # fmt: skip
        rows = [{"text": row["prompt"]} for row in self.rows]
        trainer = cohort.SFTTrainer(self.model, args, train_dataset=rows[:8], eval_dataset=[{"text": "Why?"}])
        trainer.train()
        losses = {
            line["step"]: line["eval_loss"] for line in trainer.state.log_history if "eval_loss" in line
        }
        best = min(losses, key=losses.get)
        self.assertEqual((trainer.state.best_metric, trainer.state.best_global_step), (losses[best], best))
        self.assertLess(best, 4, "the last model is not the best one here")
        model = AutoModelForCausalLM.from_pretrained(trainer.state.best_model_checkpoint, dtype=torch.float32)
        for name, weight in model.named_parameters():
            self.assertTrue(torch.equal(weight, trainer.model.get_parameter(name)), name)
        self.assertEqual(trainer.evaluate([{"text": "Why?"}])["eval_loss"], trainer.evaluate()["eval_loss"])


if __name__ == "__main__":
    unittest.main()
