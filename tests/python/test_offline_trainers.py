"""`SFTTrainer`, `DPOTrainer` and `RewardTrainer` against TRL's classes of these names: one script, two imports.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_offline_trainers.py
"""

import json
import os
import pathlib
import unittest

import torch
import transformers
import trl
from offline_case import PAIRS, ROWS, TEXTS, OfflineTest
from tiny_run import cohort as program
from trainer_case import TrainerTest

import cohort


class SftTest(OfflineTest):
    def test_texts(self):
        self.compare("SFT", ROWS["text"], ["entropy", "num_tokens"])

    def test_prompts_and_completions(self):
        self.compare("SFT", ROWS["completion"], ["entropy", "num_tokens"])

    def test_prompts_are_learnt_where_the_settings_say_so(self):
        self.compare("SFT", ROWS["completion"], ["entropy"], completion_only_loss=False)

    def test_conversations_are_learnt_whole(self):
        self.compare("SFT", ROWS["messages"], ["entropy", "num_tokens"])

    def test_sequences_are_cut(self):
        for kind in ("text", "completion"):
            self.compare("SFT", ROWS[kind], ["num_tokens"], max_length=9)

    def test_batches_accumulate(self):
        self.compare("SFT", ROWS["text"], [], gradient_accumulation_steps=2, per_device_train_batch_size=1)

    def test_a_column_and_a_function_make_texts(self):
        plain = self.build(cohort, "SFT", ROWS["text"], output_dir=os.path.join(self.output, "plain"))
        named = self.build(
            cohort, "SFT", [{"story": text} for text in TEXTS], dataset_text_field="story",
            output_dir=os.path.join(self.output, "named"),
        )  # fmt: skip
        made = self.build(
            cohort, "SFT", [{"a": text[:3], "b": text[3:]} for text in TEXTS],
            more={"formatting_func": lambda row: row["a"] + row["b"]}, output_dir=os.path.join(self.output, "made"),
        )  # fmt: skip
        for trainer in (plain, named, made):
            trainer.train()
        for trainer in (named, made):
            for name, weight in self.final(plain).items():
                self.assertTrue(torch.equal(weight, self.final(trainer)[name]), name)

    def test_evaluates(self):
        trainer = cohort.SFTTrainer(
            self.model,
            cohort.SFTConfig(**self.settings("eval", eval_strategy="steps", eval_steps=1, max_steps=2)),
            train_dataset=ROWS["text"],
            eval_dataset=ROWS["completion"],
        )
        trainer.train()
        losses = [line["eval_loss"] for line in trainer.state.log_history if "eval_loss" in line]
        self.assertEqual(len(losses), 2)
        self.assertLess(losses[1], losses[0])
        self.assertTrue((pathlib.Path(trainer.args.output_dir) / "best").is_dir())

    def test_evaluates_other_rows(self):
        """Rows that evaluate() is given have the loss that they have as the trainer's own, before and after training."""
        trainer = cohort.SFTTrainer(
            self.model,
            cohort.SFTConfig(**self.settings("eval", max_steps=2)),
            train_dataset=ROWS["text"],
            eval_dataset=ROWS["completion"],
        )
        for _ in range(2):
            own = trainer.evaluate()["eval_loss"]
            given = trainer.evaluate(eval_dataset={"one": ROWS["completion"], "two": ROWS["text"]})
            self.assertEqual(given["eval_one_loss"], own)
            self.assertNotEqual(given["eval_two_loss"], own)
            if trainer.state.global_step == 0:
                trainer.train()

    def test_the_loss_of_an_evaluation_is_that_of_a_step(self):
        trainer = cohort.SFTTrainer(
            self.model,
            cohort.SFTConfig(**self.settings("eval", max_steps=1, per_device_train_batch_size=len(TEXTS))),
            train_dataset=ROWS["text"],
            eval_dataset=ROWS["text"],
        )
        loss = trainer.evaluate()["eval_loss"]
        trainer.train()
        first = next(line for line in trainer.state.log_history if "loss" in line)
        self.assertAlmostEqual(loss, first["loss"], places=12)

    def test_adapters(self):
        from peft import LoraConfig

        trainer = self.build(
            cohort,
            "SFT",
            ROWS["completion"],
            more={"peft_config": LoraConfig(r=4, target_modules=["q_proj"])},
        )
        trainer.train()
        saved = pathlib.Path(trainer.args.output_dir) / "final" / "adapter_model.safetensors"
        self.assertTrue(saved.is_file())

    def test_writes_the_bytes_that_the_program_writes(self):
        trainer = self.build(cohort, "SFT", ROWS["messages"])
        trainer.train()
        ours, run = pathlib.Path(trainer.args.output_dir), pathlib.Path(self.output) / "program"
        program("sft", ours / "inputs/recipe.toml", "--run-dir", run, "--threads", 1)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            self.assertEqual((ours / name).read_bytes(), (run / name).read_bytes(), name)

    def test_goes_on(self):
        whole = self.build(
            cohort, "SFT", ROWS["text"], max_steps=4, output_dir=os.path.join(self.output, "whole")
        )
        whole.train()

        class Stop(transformers.TrainerCallback):
            def on_step_end(self, args, state, control, **_):
                control.should_training_stop = state.global_step == 2

        settings = {"max_steps": 4, "output_dir": os.path.join(self.output, "half")}
        self.build(cohort, "SFT", ROWS["text"], more={"callbacks": [Stop()]}, **settings).train()
        rest = self.build(cohort, "SFT", ROWS["text"], **settings)
        rest.train(resume_from_checkpoint=True)
        for name, weight in self.final(whole).items():
            self.assertTrue(torch.equal(weight, self.final(rest)[name]), name)

    def test_bad_input(self):
        for more, text in (
            ({"data_collator": list}, "data_collator is not supported"),
            ({"compute_metrics": list}, "compute_metrics is not supported"),
            ({"optimizers": (1, None)}, "optimizers is not supported"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.build(cohort, "SFT", ROWS["text"], more=more)
        for changes, text in (
            ({"packing": True}, "packing = True is not supported"),
            ({"truncation_mode": "keep_end"}, "truncation_mode = 'keep_end' is not supported"),
            ({"chat_template_path": "none.jinja"}, "chat_template_path: none.jinja is no file"),
            ({"loss_type": "dft"}, "loss_type = 'dft' is not supported"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.build(cohort, "SFT", ROWS["text"], **changes).train()
        with self.assertRaisesRegex(
            ValueError, "row 0 of train_dataset has no column 'prompt' and 'completion' or"
        ):
            self.build(cohort, "SFT", [{"question": "a"}]).train()


class DpoTest(OfflineTest):
    METRICS = ("rewards/chosen", "rewards/rejected", "rewards/accuracies", "rewards/margins", "logps/chosen")

    def test_losses(self):
        for loss in ("sigmoid", "hinge", "ipo", "robust", "sigmoid_norm"):
            smoothing = {"label_smoothing": 0.1} if loss == "robust" else {}
            self.compare(
                "DPO", PAIRS, self.METRICS, loss_type=[loss], beta=0.3, **smoothing
            )  # fmt: skip

    def test_completions_are_cut(self):
        self.compare("DPO", PAIRS, self.METRICS, max_length=24)

    def test_a_precomputed_reference_changes_nothing(self):
        one, other = (
            self.build(
                cohort,
                "DPO",
                PAIRS,
                precompute_ref_log_probs=is_early,
                output_dir=os.path.join(self.output, name),
            )
            for is_early, name in ((False, "late"), (True, "early"))
        )
        for trainer in (one, other):
            trainer.train()
        for name, weight in self.final(one).items():
            self.assertTrue(torch.equal(weight, self.final(other)[name]), name)

    def test_evaluates_and_trains_adapters(self):
        from peft import LoraConfig

        trainer = cohort.DPOTrainer(
            self.load("DPO"),
            args=cohort.DPOConfig(**self.settings("lora", eval_strategy="steps", eval_steps=3)),
            train_dataset=PAIRS,
            eval_dataset=PAIRS,
            processing_class=self.tokenizer,
            peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"]),
        )
        trainer.save_model(os.path.join(self.output, "start"))  # the adapters are made when the run opens
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        self.assertIn("eval_rewards/margins", trainer.state.log_history[-2])
        for name, old in before.items():
            changed = not torch.equal(old, trainer.model.get_parameter(name))
            self.assertEqual(changed, "lora_" in name, name)

    def test_evaluates_other_rows(self):
        trainer = self.build(cohort, "DPO", PAIRS, more={"eval_dataset": PAIRS})
        self.assertEqual(trainer.evaluate(eval_dataset=PAIRS)["eval_loss"], trainer.evaluate()["eval_loss"])
        self.output += "-precomputed"
        precomputed = self.build(cohort, "DPO", PAIRS, precompute_ref_log_probs=True)
        with self.assertRaisesRegex(ValueError, "precompute_ref_log_probs"):
            precomputed.evaluate(eval_dataset=PAIRS)

    def test_bad_input(self):
        with self.assertRaisesRegex(ValueError, "ref_model is not supported"):
            self.build(cohort, "DPO", PAIRS, more={"ref_model": self.model})
        with self.assertRaisesRegex(ValueError, "the engine has one loss at a time"):
            self.build(cohort, "DPO", PAIRS, loss_type=["sigmoid", "sft"]).train()
        with self.assertRaisesRegex(
            ValueError, "row 0 of train_dataset has no column 'chosen' and 'rejected'"
        ):
            self.build(cohort, "DPO", ROWS["text"]).train()


class RewardModelTest(OfflineTest):
    METRICS = ("accuracy", "margin", "min_reward", "mean_reward", "max_reward")

    def test_scores_pairs_as_trl(self):
        self.compare("Reward", PAIRS, self.METRICS)

    def test_centers_rewards(self):
        self.compare("Reward", PAIRS, self.METRICS, center_rewards_coefficient=0.1)

    def test_gives_a_language_model_a_head(self):
        trainer = cohort.RewardTrainer(
            self.model,
            cohort.RewardConfig(**self.settings("head")),
            train_dataset=PAIRS,
            processing_class=self.tokenizer,
        )
        trainer.train()
        folder = os.path.join(trainer.args.output_dir, "final")
        loaded = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
        ids = torch.arange(3, 20)[None]
        loaded.config.pad_token_id = trainer.model.config.pad_token_id = self.tokenizer.pad_token_id
        with torch.no_grad():
            self.assertTrue(torch.equal(loaded(ids).logits, trainer.model(ids).logits))

    def test_a_trained_model_rewards(self):
        reward = cohort.RewardTrainer(
            self.model,
            cohort.RewardConfig(**self.settings("reward")),
            train_dataset=PAIRS,
            processing_class=self.tokenizer,
        )
        reward.train()
        trainer = self.trainer(os.path.join(reward.args.output_dir, "final"), max_steps=1)
        trainer.train()
        self.assertIn("rewards/final/mean", self.metrics(trainer)[0])


class SettingsTest(OfflineTest):
    def test_defaults_are_trls(self):
        for kind in ("SFT", "DPO", "Reward", "RLOO"):
            theirs, ours = (
                getattr(package, f"{kind}Config")(output_dir=self.output, report_to="none", use_cpu=True)
                for package in (trl, cohort)
            )
            for name in theirs.__dataclass_fields__:
                if name in ("logging_dir", "accelerator_config", "run_name", "pad_to_multiple_of"):
                    continue
                self.assertEqual(str(getattr(ours, name)), str(getattr(theirs, name)), f"{kind}Config.{name}")
            self.assertEqual(
                set(ours.__dataclass_fields__)
                - set(theirs.__dataclass_fields__)
                - {"reward_error", "preflight"},
                {"recipe"},
            )

    def test_every_setting_is_in_one_list(self):
        from cohort.trainer.settings import lists_of

        for kind in ("GRPO", "SFT", "DPO", "Reward", "RLOO"):
            config = getattr(cohort, f"{kind}Config")
            lists = lists_of(config)
            names = [name for place in lists.acts.values() for name in place] + [
                *lists.ignored,
                *lists.refused,
            ]
            self.assertEqual(sorted(names), sorted(config.__dataclass_fields__), kind)

    def test_the_arguments_are_trls(self):
        import inspect

        for kind in ("SFT", "DPO", "Reward", "RLOO"):
            theirs, ours = (
                list(inspect.signature(getattr(package, f"{kind}Trainer")).parameters)
                for package in (trl, cohort)
            )
            self.assertEqual(ours[: len(theirs)], theirs, kind)


class RlooTest(TrainerTest):
    def test_trains(self):
        def reward(completions, **_):
            return [len(set(text)) / 10 for text in completions]

        settings = {"beta": 0.1, "num_iterations": 2, "max_steps": 4, "normalize_advantages": True}
        trainer = cohort.RLOOTrainer(
            self.model, reward, cohort.RLOOConfig(**self.settings(**settings)), train_dataset=self.rows
        )
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        for name, old in before.items():
            self.assertFalse(torch.equal(old, trainer.model.get_parameter(name)), name)
        config = (pathlib.Path(trainer.args.output_dir) / "config.toml").read_text()
        for line in (
            'baseline = "group_loo"',
            'kl_place = "reward"',
            'importance_sampling_level = "sequence_product"',
        ):
            self.assertIn(line, config)

    def settings(self, **changes):
        return {
            "output_dir": os.path.join(self.output, "run"),
            "per_device_train_batch_size": 8,
            "num_generations": 4,
            "max_completion_length": 12,
            "learning_rate": 1e-3,
            "bf16": False,
            "report_to": "none",
            "disable_tqdm": True,
        } | changes

    def test_advantages_leave_one_out(self):
        trainer = cohort.RLOOTrainer(
            self.model,
            lambda completions, **_: [float(len(text)) for text in completions],
            cohort.RLOOConfig(**self.settings(beta=0.0, max_steps=1)),
            train_dataset=self.rows,
        )
        trainer.train()
        path = pathlib.Path(trainer.args.output_dir) / "completions.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for group in (rows[:4], rows[4:8]):
            total = sum(row["reward"] for row in group)
            for row in group:
                expected = row["reward"] - (total - row["reward"]) / 3
                self.assertAlmostEqual(row["advantage"], expected, places=5)


if __name__ == "__main__":
    unittest.main()
