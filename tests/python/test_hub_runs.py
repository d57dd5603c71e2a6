"""Ids of the Hub in place of model directories in the program: downloaded by huggingface_hub, found in its cache.

COHORT=build/cohort .venv-test/bin/python tests/python/test_hub_runs.py
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import unittest

from hub_stand_in import Hub, Repository
from tiny_run import PROGRAM, ROOT, TinyRunTest


class HubRunsTest(TinyRunTest):
    def setUp(self):
        super().setUp()
        model = self.folder / "m"
        files = {path.name: path.read_bytes() for path in model.iterdir()}
        hub = Hub()
        self.addCleanup(hub.close)
        hub.repositories = {("models", "org/tiny"): Repository(files)}
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        self.environment |= {"HF_HOME": str(self.folder / "home"), "HF_ENDPOINT": hub.address}
        self.environment |= {
            "PYTHONPATH": str(ROOT / "python"),
            "NO_PROXY": "127.0.0.1",
            "OMP_NUM_THREADS": "1",
        }
        self.recipe.write_text(self.recipe.read_text().replace(f"{self.folder}/m", "org/tiny"))
        self.original = model

    def download(self):
        code = "from cohort import hub; print(hub.model_directory('org/tiny'))"
        done = self.run_command(sys.executable, "-W", "ignore", "-c", code)
        return pathlib.Path(done.stdout.strip())

    def run_command(self, *command, code=0):
        done = subprocess.run(
            [str(part) for part in command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def train(self, run, *more, code=0):
        return self.run_command(
            PROGRAM, "train", self.recipe, "--run-dir", run, "--train.max_steps", 2, *more, code=code
        )

    def read(self, *parts):
        return self.folder.joinpath(*parts).read_bytes()

    def test_an_id_gives_the_same_run_as_its_directory(self):
        snapshot = self.download()
        self.train("by_id")
        self.train("by_path", "--model.path", self.original)
        for part in (("metrics.jsonl",), ("final", "model.safetensors"), ("final", "tokenizer.json")):
            self.assertEqual(self.read("by_id", *part), self.read("by_path", *part))
        config = tomllib.loads(self.read("by_id", "config.toml").decode())
        self.assertEqual(config["model"]["path"], "org/tiny")
        self.assertNotIn(str(snapshot), self.read("by_id", "config.toml").decode())

    def test_a_run_goes_on_by_its_id_and_refuses_another_model(self):
        snapshot = self.download()
        self.train("run")
        self.train("run", "--train.max_steps", 3, "--resume")
        self.assertEqual(self.read("run", "metrics.jsonl").count(b"\n"), 3)
        # The cache has moved on to other weights.
        other = snapshot.parent / "0f0f"
        shutil.copytree(snapshot, other)
        weights = bytearray((other / "model.safetensors").read_bytes())
        weights[-1] ^= 1
        (other / "model.safetensors").write_bytes(weights)
        (snapshot.parents[1] / "refs/main").write_text("0f0f")
        done = self.train("run", "--train.max_steps", 4, "--resume", code=2)
        self.assertIn(
            "model.path (its model.safetensors in the run, another model.safetensors now)", done.stderr
        )

    def test_an_adapter_names_its_base_by_id(self):
        self.download()
        self.train("lora", "--lora.r", 2)
        adapter = self.folder / "lora/final"
        self.assertEqual(
            json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"], "org/tiny"
        )
        for command in (("info", adapter), ("merge", "--model", adapter, "--output", "merged")):
            self.run_command(PROGRAM, *command)
        self.assertTrue((self.folder / "merged/model.safetensors").is_file())

    def test_commands_take_ids(self):
        self.download()
        self.run_command(PROGRAM, "info", "org/tiny")
        both = []
        for model in ("org/tiny", self.original):
            output = self.folder / "samples.jsonl"
            self.run_command(
                PROGRAM, "sample", "--model", model, "--input", "train.jsonl", "--output", output
            )
            both.append(output.read_bytes())
        self.assertEqual(*both)

    def test_what_is_not_in_the_cache_says_how_to_get_it(self):
        advice = "org/tiny: no such model directory (if it is a model of the Hugging Face Hub, download it: hf download org/tiny)"
        for done in (self.train("run", code=2), self.run_command(PROGRAM, "info", "org/tiny", code=2)):
            self.assertEqual(done.stderr, f"cohort: {advice}\n")
        self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    unittest.main()
