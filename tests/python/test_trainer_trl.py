"""What TRL's own tests of GRPOTrainer check beyond the other tests here: docs/python/trl-tests.md.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_trl.py
"""

import json
import os
import pathlib
import unittest

import torch
from safetensors.torch import load_file
from trainer_case import CHAT_TEMPLATE, TrainerTest, hashed, lengths
from transformers import AutoTokenizer

from cohort import GRPOTrainer


class TrlTest(TrainerTest):
    """What TRL's own tests check beyond what stands above."""

    def trains(self, reward_funcs=hashed, more=None, **changes):
        """The trainer after some updates of two passes over each generation, all of whose parameters changed."""
        changes = {"num_iterations": 2, "max_steps": 4} | changes
        trainer = self.trainer(reward_funcs, more=more, **changes)
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        self.assertIn("train_loss", trainer.state.log_history[-1])
        for name, old in before.items():
            self.assertFalse(torch.equal(old, trainer.model.get_parameter(name)), name)
        return trainer

    def test_settings_train(self):
        for place, changes in enumerate(
            (
                {"beta": 0.1, "sync_ref_model": True, "ref_model_sync_steps": 2},
                {"beta": 0.1, "use_bias_correction_kl": False},
                {"off_policy_mask_threshold": 0.5},
                {"use_adaptive_entropy": True, "entropy_coef": 0.01, "entropy_target": 9.0},
                {"use_adaptive_entropy": True, "entropy_coef": 0.01, "entropy_target": 9.0,
                 "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
                {"scale_rewards": "batch"}, {"scale_rewards": "none"}, {"scale_rewards": True},
                {"importance_sampling_level": "sequence"}, {"pad_to_multiple_of": 8}, {"delta": 2.0},
                {"use_vllm": True}, {"use_liger_kernel": True}, {"cache_implementation": "static"},
                {"gradient_checkpointing": True}, {"dataloader_num_workers": 2},
                {"generation_kwargs": {"top_k": 5, "max_new_tokens": 6}},
                {"num_generations": 8, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
            )
        ):  # fmt: skip
            with self.subTest(**changes):
                self.trains(output_dir=os.path.join(self.output, str(place)), **changes)

    def test_the_reward_of_the_log_is_weighted(self):
        for aggregation in ("sum_then_normalize", "normalize_then_sum"):
            trainer = self.trainer(
                [lambda completions, **columns: [1.0] * len(completions),
                 lambda completions, **columns: [0.0] * len(completions)],
                output_dir=os.path.join(self.output, aggregation), logging_steps=10,
                reward_weights=[0.7, 0.3], multi_objective_aggregation=aggregation,
            )  # fmt: skip
            trainer.train()
            self.assertAlmostEqual(trainer.state.log_history[-1]["reward"], 0.7, places=6)

    def test_all_truncated_and_masked_trains_nothing(self):
        trainer = self.trainer(
            mask_truncated_completions=True, max_completion_length=2, generation_kwargs={"min_tokens": 2}
        )
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        for name, old in before.items():
            self.assertTrue(torch.equal(old, trainer.model.get_parameter(name)), name)

    def test_rewards_of_models_and_functions(self):
        from transformers import AutoConfig, AutoModelForSequenceClassification

        path = os.path.join(self.output, "reward-model")
        config = AutoConfig.from_pretrained(self.model, num_labels=1, pad_token_id=0)
        torch.manual_seed(1)
        AutoModelForSequenceClassification.from_config(config).save_pretrained(path)
        AutoTokenizer.from_pretrained(self.model).save_pretrained(path)
        trainer = self.trains([path, hashed])
        self.assertEqual(trainer.reward_func_names, ["reward-model", "hashed"])
        self.assertIn("rewards/reward-model/mean", trainer.state.log_history[0])

    def test_data_sets(self):
        from datasets import Dataset, IterableDataset

        def made():
            yield from self.rows

        rows = Dataset.from_list(self.rows)
        trainer = self.trains(
            train_dataset=rows,
            more={"eval_dataset": rows},
            eval_strategy="steps",
            eval_steps=2,
            per_device_eval_batch_size=4,
        )
        self.assertTrue(any("eval_reward" in line for line in trainer.state.log_history))
        self.trains(
            train_dataset=IterableDataset.from_generator(made), output_dir=os.path.join(self.output, "b")
        )

    def test_evaluations_by_name(self):
        trainer = self.trainer(
            eval_strategy="steps", eval_steps=2, per_device_eval_batch_size=4,
            more={"eval_dataset": {"a": self.rows[:2], "b": self.rows[2:4]}},
        )  # fmt: skip
        trainer.train()
        self.assertTrue(any("eval_reward" in line for line in trainer.state.log_history))

    def test_variables_of_the_chat_template(self):
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        tokenizer.chat_template = "{% if loud %}LOUD {% endif %}" + CHAT_TEMPLATE
        rows = [{"prompt": [{"role": "user", "content": f"Count to {i}."}]} for i in range(6)]
        trainer = self.trainer(
            train_dataset=rows, reward_funcs=lengths, chat_template_kwargs={"loud": True},
            more={"processing_class": tokenizer}, max_steps=1,
        )  # fmt: skip
        trainer.train()
        line = json.loads(
            (pathlib.Path(trainer.args.output_dir) / "completions.jsonl").read_text().splitlines()[0]
        )
        self.assertTrue(line["prompt"].startswith("LOUD user: "))

    def test_modules_that_are_saved_whole(self):
        from peft import LoraConfig

        config = LoraConfig(r=2, target_modules=["q_proj"], modules_to_save=["lm_head"])
        trainer = self.trainer(more={"peft_config": config})
        trainer.train()
        names = load_file(os.path.join(trainer.args.output_dir, "final", "adapter_model.safetensors"))
        self.assertTrue(any("lm_head" in name for name in names), list(names))

    def test_the_arguments_have_defaults(self):
        os.chdir(self.output)
        trainer = GRPOTrainer(self.model, hashed, train_dataset=self.rows)
        self.assertEqual(trainer.args.output_dir, "m-GRPO")


if __name__ == "__main__":
    unittest.main()
