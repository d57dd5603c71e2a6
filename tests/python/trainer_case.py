"""A tiny model and a trainer of it, for the tests of `GRPOTrainer`."""

import json
import os
import pathlib
import tempfile
import unittest
import warnings
import zlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from safetensors.torch import load_file
from tiny_run import CONFIG, ROOT, cohort

from cohort import GRPOConfig, GRPOTrainer

warnings.simplefilter("ignore")
torch.set_num_threads(1)

CHAT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "


def hashed(prompts, completions, **columns):
    """A score of its own for each completion, so that each group has a gradient."""
    return [zlib.crc32((p + c).encode()) % 97 / 97 for p, c in zip(prompts, completions, strict=True)]


def lengths(completions, **columns):
    return [float(len(one)) for one in completions]


class TrainerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        config = cls.folder / "config.json"
        config.write_text(json.dumps({"model_type": "llama", **json.loads(CONFIG)}))
        cls.model = str(cls.folder / "m")
        cohort(
            "init",
            "--config",
            config,
            "--tokenizer",
            ROOT / "recipes/demo",
            "--seed",
            3,
            "--output",
            cls.model,
        )
        cls.rows = [{"prompt": f"Count to {i}.", "answer": str(i), "level": i % 3} for i in range(12)]

    def setUp(self):
        self.output = tempfile.mkdtemp(dir=self.folder)

    def args(self, **changes):
        values = {
            "output_dir": os.path.join(self.output, "run"),
            "max_steps": 3,
            "per_device_train_batch_size": 8,
            "num_generations": 4,
            "max_completion_length": 12,
            "learning_rate": 1e-3,
            "logging_steps": 1,
            "bf16": False,
            "report_to": "none",
            "disable_tqdm": True,
            "save_strategy": "no",
        }
        return GRPOConfig(**(values | changes))

    def trainer(self, reward_funcs=hashed, model=None, train_dataset=None, more=None, **changes):
        rows = self.rows if train_dataset is None else train_dataset
        return GRPOTrainer(
            model or self.model, reward_funcs, self.args(**changes), train_dataset=rows, **(more or {})
        )

    def metrics(self, trainer, name="metrics.jsonl"):
        lines = (pathlib.Path(trainer.args.output_dir) / name).read_text().splitlines()
        return [json.loads(line) for line in lines]

    def final(self, trainer):
        return load_file(os.path.join(trainer.args.output_dir, "final", "model.safetensors"))
