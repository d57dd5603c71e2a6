"""The memory that a run plans before its first step, beside what it takes.

COHORT=build/cohort python3 tests/cli/test_memory.py
"""

import json
import re
import unittest

import cli_case
from cli_case import CONFIG, DEMO, CliTest, read_lines, write_lines

setUpModule = cli_case.setUpModule


class MemoryTest(CliTest):
    """What a run says before its first step is what it takes, within a tenth."""

    SHAPE = {"hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 8, "head_dim": 64}

    def test_the_plan_holds(self):
        config = self.folder / "wide.json"
        config.write_text(json.dumps({**CONFIG, **self.SHAPE, "max_position_embeddings": 512}))
        model = self.folder / "wide"
        self.cohort("init", "--config", config, "--tokenizer", DEMO, "--seed", 1, "--output", model)
        recipe = self.folder / "memory.toml"
        recipe.write_text(
            "[rollout]\nprompts_per_step = 3\nmax_completion_length = 100\nignore_eos = true\n"
            '[[reward]]\nname = "format"\n[objective]\nbeta = 0.1\n[train]\nmax_steps = 1\n'
        )
        for dtype, recompute in (("float32", "false"), ("bfloat16", "true")):
            with self.subTest(dtype=dtype, recompute=recompute):
                planned, taken = self.memory(recipe, model, dtype, recompute)
                self.assertLess(taken, 1.1 * planned)
                self.assertGreater(taken, 0.9 * planned)

    def test_the_plan_counts_reward_models(self):
        config = self.folder / "wide.json"
        config.write_text(json.dumps({**CONFIG, **self.SHAPE, "max_position_embeddings": 512}))
        model, judge = self.folder / "wide-policy", self.folder / "wide-judge"
        self.cohort("init", "--config", config, "--tokenizer", DEMO, "--seed", 1, "--output", model)
        recipe = self.folder / "judge.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        pairs = write_lines(self.folder / "wide.jsonl", [{"prompt": "1", "chosen": "2", "rejected": "3"}])
        self.cohort("reward-train", recipe, "--model.path", model, "--data.path", pairs, "--run-dir", judge)
        recipe = self.folder / "judged.toml"
        recipe.write_text(
            "[rollout]\nprompts_per_step = 3\nmax_completion_length = 100\nignore_eos = true\n"
            f'[[reward]]\nname = "model"\npath = "{judge}/final"\n[train]\nmax_steps = 1\n'
        )
        planned, taken = self.memory(recipe, model, "float32", "false", "judged-")
        self.assertLess(taken, 1.1 * planned)
        self.assertGreater(taken, 0.9 * planned)

    def test_the_plan_counts_pairs_and_their_reference(self):
        config = self.folder / "wide.json"
        config.write_text(json.dumps({**CONFIG, **self.SHAPE, "max_position_embeddings": 512}))
        model = self.folder / "wide-pairs"
        self.cohort("init", "--config", config, "--tokenizer", DEMO, "--seed", 1, "--output", model)
        recipe = self.folder / "pairs.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        row = {"prompt": "1", "chosen": " 2" * 100, "rejected": " 3" * 100}
        pairs = write_lines(self.folder / "wide-pairs.jsonl", [row] * 8)
        measured = {}
        for before in ("false", "true"):
            options = ("--precompute_ref_log_probs", before)
            planned, taken = self.memory(
                recipe, model, "float32", "false", f"pairs-{before}-", "dpo", pairs, *options
            )
            self.assertLess(taken, 1.1 * planned)
            self.assertGreater(taken, 0.9 * planned)
            measured[before] = planned, taken
        for beside, without in zip(measured["false"], measured["true"]):
            self.assertLess(without, 0.95 * beside)

    def test_the_plan_counts_a_critic(self):
        config = self.folder / "wide.json"
        config.write_text(json.dumps({**CONFIG, **self.SHAPE, "max_position_embeddings": 512}))
        model = self.folder / "wide-actor"
        self.cohort("init", "--config", config, "--tokenizer", DEMO, "--seed", 1, "--output", model)
        recipe = self.folder / "critic.toml"
        recipe.write_text(
            "[rollout]\nprompts_per_step = 3\nmax_completion_length = 100\nignore_eos = true\n"
            '[[reward]]\nname = "format"\n[objective]\npreset = "ppo"\n[train]\nmax_steps = 1\n'
        )
        planned, taken = self.memory(recipe, model, "bfloat16", "false", "critic-")
        self.assertLess(taken, 1.1 * planned)
        self.assertGreater(taken, 0.9 * planned)

    def memory(self, recipe, model, dtype, recompute, name="", command="train", data=None, *options):
        run_dir = self.folder / f"memory-{name}{dtype}-{recompute}"
        places = ("--model.path", model, "--data.path", data or self.countdown, "--run-dir", run_dir)
        settings = ("--model.dtype", dtype, "--recompute", recompute, "--seed", 1, *options)
        result = self.cohort(command, recipe, *places, *settings)
        amount, unit = re.search(r"memory planned: ([0-9.]+) (MiB|GiB)", result.stderr).groups()
        timings = read_lines(run_dir / "timings.jsonl")
        return float(amount) / (1024 if unit == "MiB" else 1), timings[-1]["perf/max_memory_allocated_gb"]


if __name__ == "__main__":
    unittest.main()
