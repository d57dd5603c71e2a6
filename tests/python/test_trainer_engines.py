"""Settings of other engines (vLLM, Liger, continuous batching), which have no effect here, and the order of the data:
what TRL's tests of GRPOTrainer check of them.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_engines.py
"""

import json
import logging
import os
import pathlib
import re
import unittest

import torch
from trainer_case import TrainerTest, hashed

import cohort


class EngineTest(TrainerTest):
    def trains(self, named, more=None, **changes):
        """Trains; each name of `named` stands in one line of the log, as without effect."""
        changes = {"num_iterations": 2, "max_steps": 4} | changes
        with self.assertLogs("cohort.trainer", logging.WARNING) as logs:
            trainer = self.trainer(
                more=more, output_dir=os.path.join(self.output, "-".join(changes)), **changes
            )
        lines = [line for line in logs.output if "has no effect" in line]
        self.assertEqual(len(lines), len(named), lines)
        for name in named:
            self.assertEqual(sum(f"{name} has no effect" in line for line in lines), 1, name)
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        self.assertIn("train_loss", trainer.state.log_history[-1])
        trained = {
            name for name, old in before.items() if not torch.equal(old, trainer.model.get_parameter(name))
        }
        return trainer, trained, set(before)

    def check_all_trained(self, named, **changes):
        _, trained, names = self.trains(named, **changes)
        self.assertEqual(trained, names)

    def test_vllm(self):
        self.check_all_trained(["use_vllm"], use_vllm=True)
        settings = {"use_vllm": True, "vllm_mode": "server", "vllm_gpu_memory_utilization": 0.5}
        self.check_all_trained(list(settings), **settings)

    def test_vllm_importance_sampling(self):
        for low, high in ((None, 3.0), (0.5, None), (0.5, 2.0)):
            settings = {"vllm_importance_sampling_clip_min": low, "vllm_importance_sampling_clip_max": high}
            default = {"vllm_importance_sampling_clip_min": None, "vllm_importance_sampling_clip_max": 3.0}
            named = [name for name, value in settings.items() if value != default[name]]
            self.output = os.path.join(self.output, "next")
            self.check_all_trained(["use_vllm", *named], use_vllm=True, **settings)

    def test_structured_outputs(self):
        pattern = r"\d{1,3}( [-+] \d{1,3})*"
        seen = []

        def reward(completions, **columns):
            seen.extend(completions)
            return [float(len(completion)) for completion in completions]

        trainer = self.trainer(
            reward, output_dir=self.output, max_steps=2, vllm_structured_outputs_regex=pattern
        )
        trainer.train()
        self.assertGreater(len(seen), 8)
        for completion in seen:
            self.assertRegex(completion, r"^[-+ \d]*$")
        self.assertTrue(any(re.fullmatch(pattern, completion) for completion in seen))

    def test_vllm_with_adapters(self):
        from peft import LoraConfig

        config = LoraConfig(target_modules="all-linear", modules_to_save=["embed_tokens", "lm_head"])
        trainer, trained, names = self.trains(["use_vllm"], {"peft_config": config}, use_vllm=True)
        adapters = {name for name in names if "lora_" in name or "modules_to_save" in name}
        self.assertGreater(len(adapters), 2 * 2 * 7)
        self.assertEqual(trained, adapters)

    def test_liger(self):
        for changes in ({}, {"importance_sampling_level": "sequence"}, {"off_policy_mask_threshold": 0.5}):
            with self.subTest(**changes):
                self.check_all_trained(["use_liger_kernel"], use_liger_kernel=True, **changes)

    def test_liger_with_adapters(self):
        from peft import LoraConfig, PeftModel, PromptTuningConfig, TaskType

        for place, (changes, parts) in enumerate(
            (
                ({"target_modules": ["q_proj", "v_proj"], "r": 8, "lora_alpha": 32}, ("lora_",)),
                (
                    {"target_modules": ["q_proj", "v_proj"], "modules_to_save": ["lm_head"]},
                    ("lora_", "lm_head.modules_to_save"),
                ),
            )
        ):
            self.output = os.path.join(self.output, str(place))
            more = {"peft_config": LoraConfig(**changes)}
            trainer, trained, names = self.trains(["use_liger_kernel"], more, use_liger_kernel=True)
            self.assertIsInstance(trainer.model, PeftModel)
            self.assertEqual(trained, {name for name in names if any(part in name for part in parts)})
        tuning = PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=8)
        with self.assertRaisesRegex(ValueError, "the engine has LoRA"):
            self.trainer(use_liger_kernel=True, more={"peft_config": tuning})

    def test_continuous_batching(self):
        self.check_all_trained(
            ["use_transformers_continuous_batching", "transformers_continuous_batching_config"],
            use_transformers_continuous_batching=True, transformers_continuous_batching_config={"block_size": 16},
        )  # fmt: skip

    def test_a_head_in_float32(self):
        trainer = self.trainer(cast_lm_head_to_fp32=True, num_iterations=2, max_steps=4)
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        self.assertEqual(trainer.model.lm_head.weight.dtype, torch.float32)
        for name, old in before.items():
            self.assertFalse(torch.equal(old, trainer.model.get_parameter(name)), name)
        with self.assertRaisesRegex(ValueError, "cast_lm_head_to_fp32 needs bf16=False"):
            self.trainer(cast_lm_head_to_fp32=True, bf16=True)


class StepTest(TrainerTest):
    def test_the_entropy_bonus_is_the_mean_entropy_for_every_loss(self):
        for loss in ("grpo", "dr_grpo", "dapo", "luspo"):
            level = "sequence" if loss == "luspo" else "token"
            trainer = self.trainer(
                loss_type=loss, importance_sampling_level=level, entropy_coef=0.5,
                output_dir=os.path.join(self.output, loss),
            )  # fmt: skip
            trainer.train()
            for line in trainer.state.log_history[:-1]:
                self.assertAlmostEqual((line["policy_loss"] - line["loss"]) / line["entropy"], 0.5, places=5)

    def test_sequence_ratios_in_sums_over_tokens_are_named(self):
        for loss in ("grpo", "bnpo", "dr_grpo", "dapo", "cispo"):
            with self.assertLogs("cohort.trainer", logging.WARNING) as logs:
                logging.getLogger("cohort.trainer").warning("so that there is a line")
                self.trainer(
                    loss_type=loss,
                    importance_sampling_level="sequence",
                    output_dir=os.path.join(self.output, loss),
                )
            warned = any("weights each sequence by its completion length" in line for line in logs.output)
            self.assertEqual(warned, loss != "grpo", loss)

    def test_a_generation_has_its_rows_and_is_used_for_all_its_updates(self):
        seen = []

        def reward(prompts, completions, trainer_state, **columns):
            seen.append((trainer_state.global_step, prompts))
            return hashed(prompts, completions)

        trainer = self.trainer(
            reward, per_device_train_batch_size=6, num_generations=4, steps_per_generation=4, num_iterations=2,
            gradient_accumulation_steps=2, shuffle_dataset=False, max_steps=-1, num_train_epochs=3,
        )  # fmt: skip
        trainer.train()
        # 24 completions are drawn at once: 4 of each of 6 prompts. 12 make an update, and each is used twice.
        expected = [
            [row["prompt"] for row in part for _ in range(4)] for part in (self.rows[:6], self.rows[6:])
        ]
        self.assertEqual(seen, [(4 * place, expected[place % 2]) for place in range(6)])
        self.assertEqual(trainer.state.global_step, 24)
        lines = (pathlib.Path(trainer.args.output_dir) / "completions.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["prompt"] for line in lines[:24]], expected[0])

    def test_completions_carry_log_probabilities(self):
        self.assertIsNone(cohort.Completion([1, 2, 3]).logprobs)
        self.assertEqual(cohort.Completion([1, 2], logprobs=[-0.1, -0.5]).logprobs, [-0.1, -0.5])
        trainer = self.trainer(max_steps=1)
        trainer.train()
        engine = cohort.Engine.load(self.model, dtype="float32")
        for line in (pathlib.Path(trainer.args.output_dir) / "completions.jsonl").read_text().splitlines():
            row = json.loads(line)
            completion = cohort.Completion(row["completion_ids"])
            [[expected]] = engine.logprobs([cohort.Group(row["prompt_ids"], [completion])])
            torch.testing.assert_close(torch.tensor(row["logprobs"]), expected, rtol=0, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
