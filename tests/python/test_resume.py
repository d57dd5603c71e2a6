"""A run killed at random instants and resumed leaves the same bytes as one that was never killed.

COHORT=build/cohort python3 tests/python/test_resume.py [KILLS]
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NUM_KILLS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20
RECORDS = ["metrics.jsonl", "completions.jsonl", "final/model.safetensors", "final/config.json"]
CONFIG = """{"architectures": ["LlamaForCausalLM"], "vocab_size": 416, "hidden_size": 64, "intermediate_size": 128,
"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32,
"max_position_embeddings": 256, "tie_word_embeddings": true, "eos_token_id": 0, "initializer_range": 0.1}"""
# Every completion has its own score, so that each group has a gradient.
REWARD = """
import zlib
def hashed(prompts, completions, **columns):
    return [zlib.crc32((p + c).encode()) % 97 / 97 for p, c in zip(prompts, completions)]
"""


def cohort(*arguments, **options):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True, **options
    )


class ResumeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        config = self.folder / "config.json"
        config.write_text(CONFIG)
        cohort(
            "init",
            "--config",
            config,
            "--tokenizer",
            ROOT / "recipes/demo",
            "--seed",
            3,
            "--output",
            self.folder / "m",
        )
        cohort("data", "countdown", "--count", 40, "--seed", 1, "--output", self.folder / "train.jsonl")
        (self.folder / "reward.py").write_text(REWARD)
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
            [[reward]]
            name = "hash"
            type = "python"
            function = "{self.folder}/reward.py:hashed"
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

    def test_killed_runs_leave_the_same_bytes(self):
        begun = time.monotonic()
        unbroken = self.start("unbroken")
        _, errors = unbroken.communicate()
        self.assertEqual(unbroken.returncode, 0, errors)
        seconds = time.monotonic() - begun
        expected = {record: (self.folder / "unbroken" / record).read_bytes() for record in RECORDS}

        generator = random.Random(5)
        kills = inside_checkpoint = round_number = 0
        while kills < NUM_KILLS:
            name = f"killed-{round_number}"
            round_number += 1
            finished = False
            while not finished:
                run = self.start(name, "--resume")
                # Every other kill aims at a checkpoint under way.
                deadline = time.monotonic() + generator.uniform(0.1, 1.0) * seconds
                aims_at_checkpoint = kills % 2 == 1
                temporary = self.folder / name / "checkpoints"
                while run.poll() is None and kills < NUM_KILLS:
                    is_writing = any(temporary.glob(".tmp-*")) if temporary.exists() else False
                    if time.monotonic() > deadline and (is_writing or not aims_at_checkpoint):
                        run.send_signal(signal.SIGKILL)
                        kills += 1
                        inside_checkpoint += is_writing
                        break
                    if time.monotonic() > deadline + seconds:
                        break
                    time.sleep(0.0002)
                _, errors = run.communicate()
                finished = run.returncode == 0
                self.assertIn(run.returncode, (0, -signal.SIGKILL), errors)
            for record, content in expected.items():
                self.assertEqual((self.folder / name / record).read_bytes(), content, f"{name}/{record}")
        print(
            f"{kills} kills over {round_number} runs, {inside_checkpoint} inside a checkpoint's writing",
            file=sys.stderr,
        )

    def test_a_signal_ends_the_run_after_a_checkpoint(self):
        reference = self.start("reference")
        reference.communicate()
        run = self.start("stopped")
        while not (self.folder / "stopped/checkpoints/step-00000002").exists():
            self.assertIsNone(run.poll())
            time.sleep(0.001)
        run.send_signal(signal.SIGTERM)
        _, errors = run.communicate()
        self.assertEqual(run.returncode, 128 + signal.SIGTERM, errors)
        resumed = self.start("stopped", "--resume")
        _, errors = resumed.communicate()
        self.assertEqual(resumed.returncode, 0, errors)
        for record in RECORDS:
            content = (self.folder / "stopped" / record).read_bytes()
            self.assertEqual(content, (self.folder / "reference" / record).read_bytes(), record)


if __name__ == "__main__":
    unittest.main()
