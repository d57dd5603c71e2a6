"""A run of a tiny model, for tests of `cohort train` from outside; COHORT is the program."""

import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = """{"architectures": ["LlamaForCausalLM"], "vocab_size": 384, "hidden_size": 64, "intermediate_size": 128,
"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32,
"max_position_embeddings": 256, "tie_word_embeddings": true, "eos_token_id": 0, "initializer_range": 0.1}"""
# Every completion has its own score, so that each group has a gradient.
REWARD = """
import zlib
def hashed(prompts, completions, **columns):
    return [zlib.crc32((p + c).encode()) % 97 / 97 for p, c in zip(prompts, completions)]
"""


def cohort(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True)


class TinyRunTest(unittest.TestCase):
    """Gives its tests a model, data and a recipe of 12 steps of 4 prompts with 4 completions each."""

    REWARDS = """
        [[reward]]
        name = "hash"
        type = "python"
        function = "FOLDER/reward.py:hashed"
    """

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        config = self.folder / "config.json"
        config.write_text(CONFIG)
        tokenizer = ROOT / "recipes/demo"
        cohort(
            "init", "--config", config, "--tokenizer", tokenizer, "--seed", 3, "--output", self.folder / "m"
        )
        cohort("data", "countdown", "--count", 40, "--seed", 1, "--output", self.folder / "train.jsonl")
        (self.folder / "reward.py").write_text(REWARD)
        rewards = self.REWARDS.replace("FOLDER", str(self.folder))
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(f"""
            [model]
            path = "{self.folder}/m"
            dtype = "float32"
            [data]
            path = "{self.folder}/train.jsonl"
            [rollout]
            prompts_per_step = 4
            num_generations = 4
            max_completion_length = 24
            {rewards}
            [optimizer]
            learning_rate = 1e-3
            [train]
            max_steps = 12
            save_steps = 1
            steps_per_generation = 2
        """)

    def start(self, name, *more):
        arguments = ["train", self.recipe, "--run-dir", self.folder / name, "--threads", 1, *more]
        return subprocess.Popen(
            [PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
