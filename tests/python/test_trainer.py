"""`GRPOTrainer` as TRL's users call it, on a tiny model: training and data.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer.py
"""

import json
import os
import pathlib
import tempfile
import unittest

import torch
from safetensors.torch import load_file
from tiny_run import cohort
from trainer_case import CHAT_TEMPLATE, TrainerTest, hashed
from transformers import AutoModelForCausalLM, AutoTokenizer

from cohort import GRPOTrainer


class TrainTest(TrainerTest):
    def test_trains_and_says_so(self):
        trainer = self.trainer()
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        result = trainer.train()
        self.assertEqual(result.global_step, 3)
        self.assertEqual(trainer.state.global_step, 3)
        self.assertIn("train_loss", trainer.state.log_history[-1])
        self.assertEqual([line["step"] for line in trainer.state.log_history[:-1]], [1, 2, 3])
        for name, old in before.items():
            self.assertFalse(torch.equal(old, trainer.model.get_parameter(name)), name)

    def test_the_log_has_what_the_metrics_file_has(self):
        trainer = self.trainer()
        trainer.train()
        for line, row in zip(trainer.state.log_history, self.metrics(trainer), strict=False):
            for name in ("reward", "loss", "grad_norm", "rewards/hashed/mean", "completions/mean_length"):
                self.assertEqual(line[name], row[name])

    def test_a_line_of_the_log_is_a_mean(self):
        trainer = self.trainer(logging_steps=3)
        trainer.train()
        rewards = [row["reward"] for row in self.metrics(trainer)]
        self.assertAlmostEqual(trainer.state.log_history[0]["reward"], sum(rewards) / 3, places=12)
        self.assertEqual(len(trainer.state.log_history), 2)

    def test_writes_the_bytes_that_the_program_writes(self):
        trainer = self.trainer()
        trainer.train()
        inputs = pathlib.Path(trainer.args.output_dir) / "inputs"
        reward = self.folder / "rewards.py"
        reward.write_text("import zlib\n" + __import__("inspect").getsource(hashed))
        recipe = (inputs / "recipe.toml").read_text()
        recipe = recipe.replace('type = "callable"', f'type = "python"\nfunction = "{reward}:hashed"')
        (inputs / "by_program.toml").write_text(recipe)
        run = os.path.join(self.output, "program")
        cohort("train", inputs / "by_program.toml", "--run-dir", run, "--threads", 1)
        ours = pathlib.Path(trainer.args.output_dir)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            self.assertEqual((ours / name).read_bytes(), (pathlib.Path(run) / name).read_bytes(), name)

    def test_a_model_object_is_trained_in_place(self):
        model = AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)
        parameter = next(model.parameters())
        old = parameter.detach().clone()
        trainer = self.trainer(
            model=model, more={"processing_class": AutoTokenizer.from_pretrained(self.model)}
        )
        trainer.train()
        self.assertIs(trainer.model, model)
        self.assertFalse(torch.equal(old, parameter))
        ids = torch.arange(20)[None]
        with torch.no_grad():
            logits = model(ids).logits
            trainer.save_model(os.path.join(self.output, "saved"))
            loaded = AutoModelForCausalLM.from_pretrained(
                os.path.join(self.output, "saved"), dtype=torch.float32
            )
            self.assertTrue(torch.equal(loaded(ids).logits, logits))

    def test_several_updates_of_one_generation(self):
        trainer = self.trainer(
            max_steps=4, per_device_train_batch_size=4, steps_per_generation=2, num_iterations=2
        )
        trainer.train()
        self.assertEqual(trainer.state.global_step, 4)
        self.assertEqual(len(self.metrics(trainer)), 1, "one generation")

    def test_accumulated_batches_are_one_update(self):
        one = self.trainer()
        one.train()
        other = self.trainer(
            output_dir=os.path.join(self.output, "other"),
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
        )
        other.train()
        for name, weight in self.final(one).items():
            self.assertTrue(torch.equal(weight, self.final(other)[name]), name)

    def test_epochs(self):
        trainer = self.trainer(max_steps=-1, num_train_epochs=2)
        trainer.train()
        self.assertEqual(trainer.state.global_step, 12)
        self.assertEqual(trainer.state.epoch, 2.0)

    def test_the_seed_decides(self):
        rewards = []
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            trainer = self.trainer(output_dir=os.path.join(self.output, name), seed=seed, max_steps=1)
            trainer.train()
            rewards.append(self.metrics(trainer)[0]["reward"])
        self.assertEqual(rewards[0], rewards[1])
        self.assertNotEqual(rewards[0], rewards[2])

    def test_losses(self):
        for loss in ("grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "vespo", "luspo"):
            level = "sequence" if loss == "luspo" else "token"
            trainer = self.trainer(
                output_dir=os.path.join(self.output, loss),
                loss_type=loss,
                max_steps=1,
                importance_sampling_level=level,
            )
            before = {name: one.clone() for name, one in trainer.model.named_parameters()}
            trainer.train()
            changed = [
                name
                for name, old in before.items()
                if not torch.equal(old, trainer.model.get_parameter(name))
            ]
            self.assertTrue(changed, loss)

    def test_settings_of_the_objective_act(self):
        changes = {
            "beta": 0.1, "scale_rewards": False, "temperature": 0.5, "top_k": 5, "top_p": 0.7, "min_p": 0.2,
            "mask_truncated_completions": True, "entropy_coef": 0.1, "top_entropy_quantile": 0.2, "delta": 2.0,
            "generation_kwargs": {"min_tokens": 5}, "max_grad_norm": 0.01, "weight_decay": 0.5, "adam_beta1": 0.5,
        }  # fmt: skip
        base = self.trainer(output_dir=os.path.join(self.output, "base"), num_iterations=2, max_steps=4)
        base.train()
        for name, value in changes.items():
            trainer = self.trainer(
                output_dir=os.path.join(self.output, name), num_iterations=2, max_steps=4, **{name: value}
            )
            trainer.train()
            same = all(torch.equal(one, self.final(base)[key]) for key, one in self.final(trainer).items())
            if name == "delta":  # no ratio is so large here: the recipe has it
                self.assertIn("delta = 2.0", self.recipe(trainer))
            else:
                self.assertFalse(same, name)

    def recipe(self, trainer):
        return (pathlib.Path(trainer.args.output_dir) / "inputs/recipe.toml").read_text()

    def test_keys_of_a_recipe(self):
        trainer = self.trainer(recipe={"objective.preset": "dr_grpo", "optimizer.adam_beta2": 0.9})
        trainer.train()
        config = (pathlib.Path(trainer.args.output_dir) / "config.toml").read_text()
        self.assertIn('scale_rewards = "none"', config)
        self.assertIn("adam_beta2 = 0.9", config)

    def test_adapters(self):
        from peft import LoraConfig

        trainer = self.trainer(
            more={"peft_config": LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])}
        )
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        for name, old in before.items():
            changed = not torch.equal(old, trainer.model.get_parameter(name))
            self.assertEqual(changed, "lora_" in name, name)
        adapter = load_file(os.path.join(trainer.args.output_dir, "final", "adapter_model.safetensors"))
        self.assertEqual(len(adapter), 8)

    def test_conversations(self):
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        tokenizer.chat_template = CHAT_TEMPLATE
        seen = []

        def reward(prompts, completions, **columns):
            seen.append((prompts[0], completions[0]))
            return [float(len(one[0]["content"])) for one in completions]

        rows = [{"prompt": [{"role": "user", "content": f"Count to {i}."}]} for i in range(6)]
        trainer = self.trainer(reward, train_dataset=rows, more={"processing_class": tokenizer}, max_steps=1)
        trainer.train()
        prompt, completion = seen[0]
        self.assertIn({"prompt": prompt}, rows)
        self.assertEqual((len(completion), completion[0]["role"]), (1, "assistant"))
        line = json.loads(
            (pathlib.Path(trainer.args.output_dir) / "completions.jsonl").read_text().splitlines()[0]
        )
        self.assertTrue(line["prompt"].startswith("user: Count to"))


class DataTest(TrainerTest):
    def test_kinds(self):
        lines = self.folder / "rows.jsonl"
        lines.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        for place, rows in enumerate((self.rows, str(lines), iter(self.rows))):
            trainer = self.trainer(output_dir=os.path.join(self.output, str(place)), train_dataset=rows)
            trainer.train()
            self.assertEqual(len(self.metrics(trainer)), 3)

    def test_bad_rows(self):
        for rows, error, text in (
            ([], ValueError, "train_dataset is empty"),
            (
                [{"question": "a"}],
                ValueError,
                "row 0 of train_dataset has no column 'prompt'; it has question",
            ),
            ([{"prompt": "a"}, {"prompt": 3}], ValueError, "row 1 of train_dataset: 'prompt' is a int"),
            (
                [{"prompt": "a", "image": b"\x00"}],
                ValueError,
                "row 0 of train_dataset: a bytes has no place in a row",
            ),
            ([{"prompt": "a", "x": float("nan")}], ValueError, "row 0 of train_dataset"),
            ([3], TypeError, "row 0 of train_dataset is a int, but must be a dict"),
        ):
            with self.assertRaisesRegex(error, text):
                self.trainer(train_dataset=rows, output_dir=tempfile.mkdtemp(dir=self.folder)).train()
        with self.assertRaisesRegex(ValueError, "has no length: set max_steps"):
            self.trainer(train_dataset=iter(self.rows), max_steps=-1)
        with self.assertRaisesRegex(ValueError, "train_dataset is missing"):
            GRPOTrainer(self.model, hashed, self.args())


if __name__ == "__main__":
    unittest.main()
