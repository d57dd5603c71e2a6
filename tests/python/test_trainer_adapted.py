"""PEFT models and configs of `GRPOTrainer`: adapters that are there already, modules saved whole, what is refused.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_adapted.py
"""

import os
import unittest

import torch
from peft import LoraConfig, PeftModel, PromptTuningConfig, TaskType, get_peft_model
from safetensors.torch import load_file
from trainer_case import TrainerTest
from transformers import AutoModelForCausalLM, AutoTokenizer


class AdaptedTest(TrainerTest):
    def base(self):
        return AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)

    def adapted(self, name="default", **settings):
        """A PEFT model whose adapters have learnt something: both their matrices are random."""
        settings = {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"]} | settings
        torch.manual_seed(5)
        model = get_peft_model(self.base(), LoraConfig(**settings), adapter_name=name)
        for parameter_name, parameter in model.named_parameters():
            if "lora_B" in parameter_name:
                torch.nn.init.normal_(parameter, std=0.02)
        return model

    def logits(self, model):
        with torch.no_grad():
            return model(torch.arange(20)[None]).logits

    def given(self, model, **changes):
        return self.trainer(
            model=model, more={"processing_class": AutoTokenizer.from_pretrained(self.model)}, **changes
        )

    def check_trained(self, trainer, trained=("lora_",)):
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        self.assertIn("train_loss", trainer.state.log_history[-1])
        for name, old in before.items():
            changed = not torch.equal(old, trainer.model.get_parameter(name))
            self.assertEqual(changed, any(part in name for part in trained), name)

    def test_a_peft_model_is_trained_in_place(self):
        for place, settings in enumerate(
            ({}, {"name": "mine"}, {"use_dora": True}, {"target_modules": "all-linear"}, {"use_rslora": True})
        ):
            with self.subTest(**settings):
                model = self.adapted(**settings)
                trainer = self.given(model, output_dir=os.path.join(self.output, str(place)))
                self.assertIs(trainer.model, model)
                self.check_trained(trainer)

    def test_goes_on_where_the_adapters_are(self):
        model = self.adapted()
        before = self.logits(model)
        trainer = self.given(model, learning_rate=0.0, weight_decay=0.0, beta=0.1)
        trainer.train()
        self.assertEqual(
            [row["kl"] for row in self.metrics(trainer)], [0.0] * 3, "the policy is the reference"
        )
        loaded = PeftModel.from_pretrained(self.base(), os.path.join(trainer.args.output_dir, "final"))
        torch.testing.assert_close(self.logits(loaded), before, rtol=0, atol=1e-6)
        self.assertFalse(torch.allclose(self.logits(self.base()), before, atol=1e-3))

    def test_the_saved_adapters_give_the_same_logits(self):
        model = self.adapted(use_dora=True)
        self.given(model).train()
        loaded = PeftModel.from_pretrained(self.base(), os.path.join(self.output, "run", "final"))
        torch.testing.assert_close(self.logits(loaded), self.logits(model), rtol=0, atol=1e-6)

    def test_modules_that_are_saved_whole(self):
        settings = {"target_modules": ["q_proj"], "modules_to_save": ["lm_head", "embed_tokens"]}
        for place, model in enumerate((self.adapted(**settings), self.base())):
            with self.subTest(place=place):
                config = LoraConfig(r=4, **settings) if place == 1 else None
                tokenizer = AutoTokenizer.from_pretrained(self.model)
                trainer = self.trainer(
                    model=model, output_dir=os.path.join(self.output, str(place)),
                    more={"processing_class": tokenizer, "peft_config": config},
                )  # fmt: skip
                trainer.train()
                saved = load_file(os.path.join(trainer.args.output_dir, "final", "adapter_model.safetensors"))
                for name in ("lm_head", "model.embed_tokens"):
                    own = trainer.model.get_parameter(
                        f"base_model.model.{name}.modules_to_save.default.weight"
                    )
                    original = trainer.model.get_parameter(f"base_model.model.{name}.original_module.weight")
                    self.assertTrue(torch.equal(own, saved[f"base_model.model.{name}.weight"]), name)
                    self.assertFalse(torch.equal(own, original), name)

    def test_refused(self):
        tuning = PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=8)
        for model, config, text in (
            (self.model, tuning, "peft_config is a PromptTuningConfig: the engine has LoRA"),
            (get_peft_model(self.base(), tuning), None, "PromptTuningConfig: the engine has LoRA"),
            (self.adapted(), LoraConfig(), "has adapters already: leave peft_config out"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.trainer(model=model, more={"peft_config": config})

    def test_dropout_is_left_out_with_a_warning(self):
        for place, (model, config) in enumerate((
            (self.adapted(lora_dropout=0.1), None),
            (self.model, LoraConfig(lora_dropout=0.1)),
        )):  # fmt: skip
            with self.assertLogs("cohort.trainer.recipe", "WARNING") as logs:
                trainer = self.trainer(
                    model=model,
                    more={"peft_config": config},
                    output_dir=os.path.join(self.output, str(place)),
                )
                trainer.train()
            self.assertIn("lora_dropout has no effect", logs.output[0])


if __name__ == "__main__":
    unittest.main()
