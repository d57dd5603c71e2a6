"""What TRL's tests of SFTTrainer and DPOTrainer check besides: docs/python/trl-tests-offline.md.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_offline_trl.py
"""

import json
import os
import pathlib
import unittest

import torch
from datasets import Dataset, DatasetDict, IterableDataset
from offline_case import PAIRS, ROWS, OfflineTest
from peft import LoraConfig

import cohort

SHOUTING = (
    "{% for m in messages %}<{{ m['role'].upper() if shouts else m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<{{ 'ASSISTANT' if shouts else 'assistant' }}>{% endif %}"
)
MARKED = (
    "{% for m in messages %}<{{ m['role'] }}>{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}\n"
    "{% endgeneration %}{% else %}{{ m['content'] }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
WITH_TOOLS = (
    "{% for tool in tools or [] %}[{{ tool['function']['name'] }}]{% endfor %}"
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
LONGER = [
    {
        "messages": row["messages"]
        + [{"role": "user", "content": "And then?"}, {"role": "assistant", "content": "So on."}]
    }
    for row in ROWS["messages"]
]
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
CONVERSATIONS = [
    {
        "prompt": [{"role": "user", "content": row["prompt"]}],
        "chosen": [{"role": "assistant", "content": row["chosen"]}],
        "rejected": [{"role": "assistant", "content": row["rejected"]}],
    }
    for row in PAIRS
]
ADAPTERS = {"peft_config": LoraConfig(r=4, target_modules=["q_proj", "v_proj"])}


class Offline(OfflineTest):
    def prompts_of(self, trainer):
        """The texts that the engine read, by the program's own rendering of the inputs."""
        lines = (pathlib.Path(trainer.args.output_dir) / "inputs/train.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def changes_every_parameter(self, trainer):
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        self.assertIn("train_loss", trainer.state.log_history[-1])
        for name, old in before.items():
            self.assertFalse(torch.equal(old, trainer.model.get_parameter(name)), name)


class SftTest(Offline):
    def test_variables_of_the_template_are_a_column(self):
        self.tokenizer.chat_template = SHOUTING
        rows = [
            {**row, "chat_template_kwargs": {"shouts": bool(i % 2)}} for i, row in enumerate(ROWS["messages"])
        ]
        self.compare("SFT", rows, ["num_tokens"])

    def test_tools_are_a_column(self):
        self.tokenizer.chat_template = WITH_TOOLS
        for tools in ([TOOL], json.dumps([TOOL])):
            self.compare("SFT", [{**row, "tools": tools} for row in ROWS["messages"]], ["num_tokens"])

    def test_assistants_alone(self):
        self.tokenizer.chat_template = MARKED
        self.compare("SFT", LONGER, ["entropy"], assistant_only_loss=True)

    def test_assistants_of_completions_alone(self):
        self.tokenizer.chat_template = MARKED
        rows = [{"prompt": row["messages"][:1], "completion": row["messages"][1:]} for row in LONGER]
        self.compare("SFT", rows, ["entropy"], assistant_only_loss=True, completion_only_loss=True)

    def test_conversations_of_from_and_value(self):
        rows = [
            {"conversations": [{"from": m["role"], "value": m["content"]} for m in row["messages"]]}
            for row in ROWS["messages"]
        ]
        self.compare("SFT", rows, ["num_tokens"])

    def test_a_template_of_a_file(self):
        path = os.path.join(self.output, "template.jinja")
        pathlib.Path(path).write_text(SHOUTING)
        self.tokenizer.chat_template = None
        trainer = self.build(cohort, "SFT", ROWS["messages"], chat_template_path=path)
        self.changes_every_parameter(trainer)
        saved = pathlib.Path(trainer.args.output_dir) / "final/chat_template.jinja"
        self.assertEqual(saved.read_text(), SHOUTING)

    def test_data_sets(self):
        rows = ROWS["messages"]
        for place, data in enumerate((rows, IterableDataset.from_generator(lambda: iter(rows)), iter(rows))):
            trainer = cohort.SFTTrainer(
                self.load("SFT"), cohort.SFTConfig(**self.settings(str(place))), train_dataset=data,
                processing_class=self.tokenizer,
            )  # fmt: skip
            self.changes_every_parameter(trainer)
        with self.assertRaisesRegex(ValueError, "train_dataset is missing"):
            cohort.SFTTrainer(self.model, cohort.SFTConfig(**self.settings("none")))

    def test_evaluations_by_name(self):
        data = DatasetDict({"a": Dataset.from_list(ROWS["text"]), "b": Dataset.from_list(ROWS["text"][:2])})
        trainer = cohort.SFTTrainer(
            self.model,
            cohort.SFTConfig(**self.settings("eval", eval_strategy="steps", eval_steps=3)),
            train_dataset=Dataset.from_list(ROWS["text"]),
            eval_dataset=data,
        )
        trainer.train()
        self.assertTrue(any("eval_loss" in line for line in trainer.state.log_history))

    def test_settings_train(self):
        for place, changes in enumerate((
            {"bf16": True},
            {"model_init_kwargs": {"dtype": "float32"}},
            {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": True}},
            {"use_liger_kernel": True},
            {"padding_free": True},
            {"loss_type": "chunked_nll"},
            {"activation_offloading": True},
        )):  # fmt: skip
            settings = self.settings(str(place), learning_rate=0.05, **changes)
            trainer = cohort.SFTTrainer(self.model, cohort.SFTConfig(**settings), train_dataset=ROWS["text"])
            self.changes_every_parameter(trainer)

    def test_adapters_alone_are_trained(self):
        trainer = self.build(cohort, "SFT", ROWS["text"], more=ADAPTERS)
        trainer.save_model(os.path.join(self.output, "start"))  # the adapters are made when the run opens
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        for name, old in before.items():
            self.assertEqual(not torch.equal(old, trainer.model.get_parameter(name)), "lora_" in name, name)

    def test_tokens_are_no_rows(self):
        with self.assertRaisesRegex(ValueError, "row 0 of train_dataset has no column .*; it has input_ids"):
            self.build(cohort, "SFT", [{"input_ids": [1, 2]}]).train()


class DpoTest(Offline):
    METRICS = ("rewards/chosen", "rewards/rejected", "logps/chosen", "logps/rejected")

    def test_conversations(self):
        self.compare("DPO", CONVERSATIONS, self.METRICS)

    def test_prompts_within_completions(self):
        rows = [
            {"chosen": row["prompt"] + row["chosen"], "rejected": row["prompt"] + row["rejected"]}
            for row in CONVERSATIONS
        ]
        self.compare("DPO", rows, self.METRICS)

    def test_longer_completions_weigh_less(self):
        self.compare("DPO", PAIRS, self.METRICS, ld_alpha=0.5)

    def test_variables_of_the_template_are_a_column(self):
        self.tokenizer.chat_template = SHOUTING
        rows = [
            {**row, "chat_template_kwargs": {"shouts": bool(i % 2)}} for i, row in enumerate(CONVERSATIONS)
        ]
        self.compare("DPO", rows, self.METRICS)

    def test_tools_are_a_column(self):
        self.tokenizer.chat_template = WITH_TOOLS
        self.compare("DPO", [{**row, "tools": json.dumps([TOOL])} for row in CONVERSATIONS], self.METRICS)

    def test_rows_without_room_are_left_out(self):
        rows = [*PAIRS, {"prompt": "A very long prompt that fills the whole length, on its own, and then some more.",
                         "chosen": " yes", "rejected": " no"}]  # fmt: skip
        self.compare("DPO", rows, self.METRICS, max_length=24)

    def test_data_sets(self):
        for place, data in enumerate((PAIRS, IterableDataset.from_generator(lambda: iter(PAIRS)))):
            trainer = cohort.DPOTrainer(
                self.load("DPO"), args=cohort.DPOConfig(**self.settings(str(place))), train_dataset=data,
                eval_dataset={"a": PAIRS[:2], "b": PAIRS[2:4]}, processing_class=self.tokenizer,
            )  # fmt: skip
            self.changes_every_parameter(trainer)
        with self.assertRaisesRegex(ValueError, "train_dataset is missing"):
            cohort.DPOTrainer(self.model, args=cohort.DPOConfig(**self.settings("none")))

    def test_settings_train(self):
        for place, changes in enumerate((
            {"bf16": True},
            {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}},
            {"use_liger_kernel": True},
            {"padding_free": True},
        )):  # fmt: skip
            trainer = cohort.DPOTrainer(
                self.model,
                args=cohort.DPOConfig(**self.settings(str(place), learning_rate=0.05, **changes)),
                train_dataset=PAIRS,
            )
            self.changes_every_parameter(trainer)

    def test_what_the_engine_has_not_is_refused(self):
        for changes, text in (
            ({"f_divergence_type": "js_divergence"}, "f_divergence_type"),
            ({"use_weighting": True}, "use_weighting"),
            ({"sync_ref_model": True}, "sync_ref_model"),
            ({"loss_weights": [1.0]}, "loss_weights"),
            ({"truncation_mode": "keep_end"}, "truncation_mode"),
        ):
            with self.assertRaisesRegex(ValueError, f"{text} = .* is not supported"):
                self.build(cohort, "DPO", PAIRS, **changes)


if __name__ == "__main__":
    unittest.main()
