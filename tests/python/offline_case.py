"""Trainers of given completions, ours and TRL's, on one tiny model and the same rows."""

import os
import tempfile

import torch
import transformers
import trl
from datasets import Dataset
from trainer_case import TrainerTest

import cohort

CHAT_TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
TEXTS = [
    "Count to three.",
    "Name a city, then a river.",
    "What is two and two?",
    "Say it again.",
    "Go on.",
    "Why?",
]
PAIRS = [
    {"prompt": text, "chosen": f" {i} is one more.", "rejected": f" {9 - i} or so, who knows."}
    for i, text in enumerate(TEXTS)
]
ROWS = {
    "text": [{"text": text} for text in TEXTS],
    "completion": [{"prompt": text, "completion": f" {i} is one more."} for i, text in enumerate(TEXTS)],
    "messages": [
        {
            "messages": [
                {"role": "user", "content": text},
                {"role": "assistant", "content": f"{i} is one more."},
            ]
        }
        for i, text in enumerate(TEXTS)
    ],
}
LOSS_TOLERANCE = 2e-5
WEIGHT_TOLERANCE = 2e-5  # after three updates of 1e-3


class OfflineTest(TrainerTest):
    def setUp(self):
        super().setUp()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
        self.tokenizer.chat_template = CHAT_TEMPLATE
        self.tokenizer.pad_token = self.tokenizer.eos_token

    def settings(self, name, **changes):
        return {
            "output_dir": os.path.join(self.output, name),
            "max_steps": 3,
            "per_device_train_batch_size": 2,
            "learning_rate": 1e-3,
            "adam_epsilon": 1e-4,  # a gradient that is rounding noise moves nothing
            "logging_steps": 1,
            "bf16": False,
            "report_to": "none",
            "disable_tqdm": True,
            "save_strategy": "no",
            "train_sampling_strategy": "sequential",
        } | changes

    def build(self, package, kind, rows, model=None, more=None, **changes):
        args = getattr(package, f"{kind}Config")(**self.settings(package.__name__, **changes))
        return getattr(package, f"{kind}Trainer")(
            model=model or self.load(kind),
            args=args,
            train_dataset=Dataset.from_list(rows),
            processing_class=self.tokenizer,
            **(more or {}),
        )

    def load(self, kind):
        if kind != "Reward":
            return transformers.AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)
        torch.manual_seed(4)
        return transformers.AutoModelForSequenceClassification.from_pretrained(
            self.model, dtype=torch.float32, num_labels=1, pad_token_id=self.tokenizer.pad_token_id
        )

    def compare(self, kind, rows, metrics, **changes):
        """Both packages train the same model on the same rows; returns ours."""
        theirs = self.build(trl, kind, rows, **changes)
        theirs.train()  # before the settings of another trainer reset accelerate's state
        expected = {name: weight.clone() for name, weight in theirs.model.state_dict().items()}
        self.output = tempfile.mkdtemp(dir=self.folder)
        ours = self.build(cohort, kind, rows, **changes)
        ours.train()
        for their_line, our_line in zip(
            theirs.state.log_history[:-1], ours.state.log_history[:-1], strict=True
        ):
            for name in ("loss", "grad_norm", *metrics):
                tolerance = LOSS_TOLERANCE * max(1.0, abs(their_line[name]))
                self.assertAlmostEqual(our_line[name], their_line[name], delta=tolerance, msg=name)
            self.assertAlmostEqual(our_line["learning_rate"], their_line["learning_rate"], places=15)
        for name, weight in ours.model.state_dict().items():
            difference = (weight - expected[name]).abs().max().item()
            self.assertLess(difference, WEIGHT_TOLERANCE, name)
        return ours
