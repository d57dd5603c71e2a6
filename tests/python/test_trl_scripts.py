"""Scripts after TRL's documented examples (trl_scripts), run by Cohort after changing only their import lines.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trl_scripts.py
"""

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import re
import runpy
import shutil
import sys
import unittest
from unittest import mock

import datasets
import torch
from tiny_run import ROOT
from trainer_case import CHAT_TEMPLATE, TrainerTest
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

import cohort
from cohort import rewards

SCRIPTS = sorted((ROOT / "tests/python/trl_scripts").glob("*.py"))
IMPORT = re.compile(r"^from trl(\.rewards)? import (\([^)]*\)|.*)$", re.MULTILINE)
SMALL = ["--model_name_or_path", "models/tiny", "--max_completion_length", "12", "--logging_steps", "1"]
ARGUMENTS = {
    "gspo": [
        *SMALL, "--output_dir", "gspo", "--learning_rate", "1e-5", "--dtype", "bfloat16", "--max_steps", "4",
        "--use_peft", "--lora_target_modules", "q_proj", "v_proj", "--num_generations", "4", "--beta", "0.0",
        "--importance_sampling_level", "sequence", "--epsilon", "3e-4", "--epsilon_high", "4e-4",
        "--per_device_train_batch_size", "4", "--per_device_eval_batch_size", "4", "--gradient_accumulation_steps", "2",
        "--steps_per_generation", "8", "--loss_type", "grpo", "--eval_strategy", "steps", "--eval_steps", "4",
    ],
    "grpo": [
        *SMALL, "--output_dir", "grpo", "--learning_rate", "1e-5", "--max_steps", "2", "--dataset_name", "data/sums",
        "--reward_model_name_or_path", "models/reward", "--reward_funcs", "accuracy_reward", "think_format_reward",
        "get_soft_overlong_punishment", "reasoning_accuracy_reward", "my_rewards.shouting",
    ],
    "continuous_batching": [
        *SMALL, "--output_dir", "words", "--dataset_name", "data/words", "--num_generations", "8", "--use_peft",
        "--log_completions", "--max_steps", "2", "--num_completions_to_print", "1",
    ],
}  # fmt: skip

# A template that renders tools and conversations with them.
CHATML = (
    "{% for tool in tools or [] %}{{ tool.function.name }}\n{% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for call in m.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}{{ eos_token }}\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Without a GPU transformers refuses TRL's default, bf16.
WITH_BF16 = mock.patch("transformers.training_args.is_torch_bf16_gpu_available", lambda: True)
# Names that TRL logs and we do not: docs/python/trl-tests-rewards.md. Of evaluations only these are ours.
NOT_OURS = {"total_flos", "step_time"}
EVALUATION = re.compile(r"eval_(reward|rewards/.*/mean|completions/mean_length)")


def with_cohort(text):
    """The script with other import lines: what Cohort has comes from it."""

    def changed(match):
        names = [name.strip() for name in match[2].strip("()").split(",") if name.strip()]
        part = match[1] or ""
        known = (rewards if part else cohort).__all__
        ours, theirs = ([name for name in names if (name in known) is is_ours] for is_ours in (True, False))
        lines = [f"from cohort{part} import {', '.join(ours)}"] if ours else []
        return "\n".join(lines + ([f"from trl{part} import {', '.join(theirs)}"] if theirs else []))

    return IMPORT.sub(changed, text)


def write_lines(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


class ScriptTest(TrainerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.enterClassContext(mock.patch.object(datasets.config, "HF_DATASETS_CACHE", cls.folder / "cache"))
        (cls.folder / "models").mkdir()
        os.rename(cls.model, cls.folder / "models/tiny")
        tokenizer = AutoTokenizer.from_pretrained(cls.folder / "models/tiny")
        config = AutoConfig.from_pretrained(cls.folder / "models/tiny", num_labels=1, pad_token_id=0)
        torch.manual_seed(1)
        AutoModelForSequenceClassification.from_config(config).save_pretrained(cls.folder / "models/reward")
        tokenizer.chat_template = CHAT_TEMPLATE
        for name in ("tiny", "reward"):
            tokenizer.save_pretrained(cls.folder / "models" / name)
        shutil.copytree(cls.folder / "models/tiny", cls.folder / "models/chatml")
        tokenizer.chat_template = CHATML
        tokenizer.save_pretrained(cls.folder / "models/chatml")
        sums = [(f"What is {n} + {n}?", str(2 * n)) for n in range(1, 9)]
        chats = [{"prompt": [{"role": "user", "content": ask}], "solution": sum_} for ask, sum_ in sums]
        write_lines(cls.folder / "data/math.jsonl", chats[:2])
        write_lines(cls.folder / "data/sums/train.jsonl", chats)
        write_lines(cls.folder / "data/sums/test.jsonl", chats)
        problems = [{"problem": ask, "messages": [], "solution": sum_} for ask, sum_ in sums]
        write_lines(cls.folder / "data/problems.jsonl", problems)
        write_lines(
            cls.folder / "data/words/train.jsonl",
            [{"question": ask, "answer": f"Think.\n#### {sum_}"} for ask, sum_ in sums],
        )
        (cls.folder / "my_rewards.py").write_text(
            "def shouting(completions, **kwargs):\n"
            "    return [float(sum(letter.isupper() for letter in one[0]['content'])) for one in completions]\n"
        )

    def run_script(self, path, text):
        """The script's variables after it ran, in a folder of its own."""
        folder = pathlib.Path(self.output)
        for name in ("models", "data", "my_rewards.py"):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(self.folder / name)
        copy = folder / path.name
        copy.write_text(text)
        with (
            contextlib.chdir(folder),
            mock.patch.object(sys, "argv", [str(copy), *ARGUMENTS.get(path.stem, [])]),
            mock.patch.object(sys, "path", list(sys.path)),
        ):
            return runpy.run_path(str(copy), run_name="__main__")

    def run_with_cohort(self, name):
        path = next(path for path in SCRIPTS if path.stem == name)
        return self.run_script(path, with_cohort(path.read_text()))

    def file(self, name):
        return pathlib.Path(self.output) / name

    def check(self, trainer, updates, *metrics):
        """The run made its updates, trained, and logged `metrics`."""
        self.assertIs(type(trainer), cohort.GRPOTrainer)
        self.assertEqual(trainer.state.global_step, updates)
        lines = [line for line in trainer.state.log_history if "reward" in line]
        self.assertTrue(lines)
        for name in ("loss", "grad_norm", "learning_rate", *metrics):
            self.assertIn(name, lines[-1])
        self.assertTrue(any("train_loss" in line for line in trainer.state.log_history))
        self.assertTrue(self.file(trainer.args.output_dir + "/final").is_dir())

    def test_quickstart(self):
        trainer = self.run_with_cohort("quickstart")["trainer"]
        self.check(trainer, 6, "rewards/accuracy_reward/mean")
        self.assertEqual(trainer.args.output_dir, "tiny-GRPO")

    def test_length_reward(self):
        trainer = self.run_with_cohort("length_reward")["trainer"]
        self.check(trainer, 3, "rewards/token_reward/mean", "rewards/reference_reward/mean")
        for line in (one for one in trainer.state.log_history if "reward" in one):
            means = [line[f"rewards/{name}_reward/mean"] for name in ("token", "character", "reference")]
            self.assertAlmostEqual(line["reward"], 0.1 * means[0] + 0.01 * means[1] + means[2], places=6)
            self.assertAlmostEqual(means[0], line["completions/mean_length"], places=6)

    def test_format_reward(self):
        variables = self.run_with_cohort("format_reward")
        self.check(
            variables["trainer"], 3, "rewards/format_reward_func/mean", "rewards/think_format_reward/mean"
        )
        self.assertIn("eval_rewards/think_format_reward/mean", variables["metrics"])

    def test_multitask(self):
        trainer = self.run_with_cohort("multitask")["trainer"]
        self.check(trainer, 4, "rewards/math_reward_func/skipped")
        for line in (one for one in trainer.state.log_history if "reward" in one):
            names = ("math", "coding")  # a step has one prompt
            skipped = [line[f"rewards/{name}_reward_func/skipped"] for name in names]
            self.assertEqual(sorted(skipped), [0.0, 8.0])

    def test_async_reward(self):
        self.check(
            self.run_with_cohort("async_reward")["trainer"], 3,
            "rewards/reward_func/mean", "rewards/async_reward_func1/mean", "rewards/async_reward_func2/mean",
        )  # fmt: skip

    def test_extra_logs(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed, mock.patch.dict(os.environ, COLUMNS="200"):
            trainer = self.run_with_cohort("extra_logs")["trainer"]
        self.check(trainer, 2, "accuracy", "progress")
        lines = [line for line in trainer.state.log_history if "reward" in line]
        self.assertEqual([line["progress"] for line in lines], [0.0, 0.5])
        self.assertEqual([line["accuracy"] for line in lines], [line["reward"] for line in lines])
        self.assertIn("extracted_answer", printed.getvalue())

    def test_tools(self):
        trainer = self.run_with_cohort("tools")["trainer"]
        self.check(trainer, 2, "tools/call_frequency", "tools/failure_frequency", "rewards/accuracy/mean")

    def test_environments(self):
        trainer = self.run_with_cohort("environments")["trainer"]
        self.check(trainer, 2, "tools/call_frequency", "rewards/reward_func/mean")

    def test_lora(self):
        trainer = self.run_with_cohort("lora")["trainer"]
        self.check(trainer, 3)
        self.assertTrue(self.file("lora-adapter/adapter_model.safetensors").is_file())

    def test_gspo(self):
        trainer = self.run_with_cohort("gspo")["trainer"]
        self.check(trainer, 4, "rewards/think_format_reward/mean", "rewards/accuracy_reward/mean")
        self.assertTrue(any("eval_reward" in line for line in trainer.state.log_history))
        self.assertTrue(self.file("gspo/adapter_model.safetensors").is_file())

    def test_grpo(self):
        self.check(
            self.run_with_cohort("grpo")["trainer"], 2,
            *(f"rewards/{name}/mean" for name in (
                "reward", "accuracy_reward", "think_format_reward", "soft_overlong_punishment_reward",
                "reasoning_accuracy_reward", "shouting")),
        )  # fmt: skip
        self.assertTrue(self.file("grpo/model.safetensors").is_file())

    def test_continuous_batching(self):
        self.check(
            self.run_with_cohort("continuous_batching")["trainer"], 2, "rewards/correctness_reward/mean"
        )

    def test_dapo(self):
        self.check(self.run_with_cohort("dapo")["trainer"], 3, "rewards/soft_overlong_punishment_reward/mean")

    def test_long_reasoning(self):
        trainer = self.run_with_cohort("long_reasoning")["trainer"]
        self.assertEqual(trainer.state.global_step, 4)

    def test_papers(self):
        trainers = self.run_with_cohort("papers")["trainers"]
        self.assertEqual(len(trainers), 13)
        for paper, trainer in trainers.items():
            with self.subTest(paper):
                self.check(trainer, 4, "rewards/variety/mean", "rewards/brevity/mean")

    def test_only_import_lines_change(self):
        self.assertGreaterEqual(len(SCRIPTS), 10)
        for path in SCRIPTS:
            text = path.read_text()
            changed = with_cohort(text)
            self.assertIn("from cohort import ", changed, path.name)
            rest = re.compile(IMPORT.pattern.replace("trl", "(?:trl|cohort)") + r"\n", re.MULTILINE)
            self.assertEqual(rest.sub("", changed), rest.sub("", text), path.name)

    def test_command_lines_have_the_same_types(self):
        import trl

        ours, theirs = (
            {one.name: one.type for one in dataclasses.fields(config)}
            for config in (cohort.GRPOConfig, trl.GRPOConfig)
        )
        self.assertEqual({name: ours[name] for name in theirs}, theirs)

    def test_the_originals_are_calls_of_trl(self):
        """TRL's own classes take the arguments, and its trainer has the methods."""
        import trl

        trainer = mock.create_autospec(trl.GRPOTrainer)
        for path in SCRIPTS:
            trainer.reset_mock()
            made = trainer.return_value
            made.accelerator = mock.Mock()
            with self.subTest(path.name), WITH_BF16, mock.patch.object(trl, "GRPOTrainer", trainer):
                self.run_script(path, path.read_text())
                trainer.assert_called()
                for call in trainer.call_args_list:
                    self.assertIsInstance(call.kwargs.get("args"), trl.GRPOConfig | None)
                made.train.assert_called()

    def test_trl_itself_logs_the_same_names(self):
        for name in ("length_reward", "format_reward", "extra_logs", "gspo", "grpo"):
            path = next(path for path in SCRIPTS if path.stem == name)
            self.setUp()
            ours = self.run_script(path, with_cohort(path.read_text()))["trainer"]
            self.setUp()
            with self.subTest(name), WITH_BF16:
                theirs = self.run_script(path, path.read_text())["trainer"]
                names, wanted = (
                    {one for line in trainer.state.log_history for one in line} for trainer in (ours, theirs)
                )
                self.assertEqual(theirs.state.global_step, ours.state.global_step)
                wanted = {one for one in wanted if not one.startswith("eval_") or EVALUATION.fullmatch(one)}
                self.assertEqual(wanted - names, NOT_OURS & wanted)


if __name__ == "__main__":
    unittest.main()
