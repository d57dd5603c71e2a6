"""Every kind of run on a GPU beside the same on the CPU; skipped where no GPU is found.

COHORT=build/cohort python3 tests/cli/test_cuda.py

In float32 both devices do the same arithmetic in another order: losses and gradient norms of the first steps agree to
about 1e-4, and most completions are the same tokens.
"""

import json
import math
import pathlib
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import tiny_run
from tiny_run import PROGRAM, cohort

DEVICES = ("cpu", "cuda")
MOE = """{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "vocab_size": 384, "hidden_size": 64,
"intermediate_size": 96, "moe_intermediate_size": 48, "num_experts": 4, "num_experts_per_tok": 2,
"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "decoder_sparse_step": 1,
"max_position_embeddings": 256, "tie_word_embeddings": false, "eos_token_id": 0, "initializer_range": 0.1}"""
PAIRS = [{"prompt": f"{i} +", "chosen": f" {i} = {2 * i}", "rejected": f" {i} is so"} for i in range(12)]
STEPS = [
    {"prompt": f"{i}:", "completions": [f"{i} + 1", f"{i} - 1"], "labels": [True, i % 2 == 0]}
    for i in range(12)
]
ANSWERS = [{"prompt": f"{i} + {i} =", "completion": f" {2 * i} " + "so " * i} for i in range(1, 9)]
GRPO = {
    "plain": [],
    "two iterations": ["--objective.num_iterations", 2],
    "reference": ["--objective.beta", 0.05],
    "adapters": ["--lora.r", 4, "--objective.beta", 0.05],
    "dora": ["--lora.r", 4, "--lora.use_dora=true"],
    "top_k": ["--rollout.top_k", 20],
    "top_p": ["--rollout.top_p", 0.9, "--rollout.temperature", 0.8],
    "entropies": ["--objective.preset", "gtpo"],
    "sequence ratios": ["--objective.preset", "gspo"],
    "adaptive entropy": ["--objective.entropy_coef", 0.01],
    "demonstrations": ["--objective.preset", "luffy", "--columns", "demonstration=solution"],
    "critic model": ["--objective.preset", "ppo"],
    "critic head": ["--objective.preset", "ppo", "--critic.kind", "head"],
    "small micro-batches": ["--train.tokens_per_microbatch", 60],
}


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


class CudaTest(tiny_run.TinyRunTest):
    def file(self, name, records):
        path = self.folder / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def on_both(self, name, *arguments):
        """Run directories of one command on both devices."""
        runs = []
        for device in DEVICES:
            runs.append(self.folder / f"{name}-{device}".replace(" ", "-"))
            done = run(*arguments, "--run-dir", runs[-1], "--threads", 1, "--model.device", device)
            self.assertEqual(done.returncode, 0, done.stderr)
        return runs

    def check_metrics(self, runs, steps, names, places=1e-3):
        """Those metrics of the first steps agree, relative to their size."""
        for left, right in list(zip(*(rows(path / "metrics.jsonl") for path in runs)))[:steps]:
            for name in names:
                close = math.isclose(left[name], right[name], rel_tol=places, abs_tol=1e-6)
                self.assertTrue(close, (name, left[name], right[name]))

    def train(self, name, options):
        steps = ["--train.max_steps", 3, "--train.steps_per_generation", 1, "--rollout.num_generations", 4]
        sizes = ["--prompts-per-step", 4, "--rollout.max-completion-length", 24, "--learning-rate", 1e-3]
        return self.on_both(name, "train", self.recipe, *steps, *sizes, *options)

    def check_train(self, name, options):
        runs = self.train(name, options)
        first = [
            [row["completion_ids"] for row in rows(path / "completions.jsonl") if row["step"] == 1]
            for path in runs
        ]
        same = sum(left == right for left, right in zip(*first)) / len(first[0])
        for line in rows(runs[1] / "metrics.jsonl"):
            self.assertEqual(line["skipped_steps"], 0)
            self.assertTrue(math.isfinite(line["loss"]) and line["grad_norm"] > 0, line)
            self.assertLess(line["sampling/sampling_logp_difference/max"], 1e-3)
        self.assertGreater(same, 0.8)
        if same == 1:
            self.check_metrics(runs, 1, ("loss", "grad_norm", "entropy"))

    def test_grpo(self):
        for name, options in GRPO.items():
            with self.subTest(name):
                self.check_train(name, options)

    def test_grpo_of_a_mixture(self):
        config = self.folder / "moe.json"
        config.write_text(MOE)
        tokenizer = tiny_run.ROOT / "recipes/demo"
        cohort(
            "init", "--config", config, "--tokenizer", tokenizer, "--seed", 3, "--output", self.folder / "moe"
        )
        for name, options in {"moe": [], "moe adapters": ["--lora.r", 4]}.items():
            with self.subTest(name):
                self.check_train(name, ["--model.path", self.folder / "moe", *options])

    def test_grpo_in_bfloat16(self):
        for line in rows(self.train("bfloat16", ["--model.dtype", "bfloat16"])[1] / "metrics.jsonl"):
            self.assertTrue(math.isfinite(line["loss"]) and line["grad_norm"] > 0, line)
            self.assertLess(line["sampling/sampling_logp_difference/max"], 0.2)

    def test_a_resumed_run_goes_on(self):
        whole = self.train("whole", ["--train.save_steps", 1])[1]
        expected = rows(whole / "metrics.jsonl")
        for path in (whole / "checkpoints/step-00000003", whole / "final"):
            subprocess.run(["rm", "-r", path], check=True)
        self.train("whole", ["--train.save_steps", 1, "--resume"])
        for left, right in zip(expected, rows(whole / "metrics.jsonl")):
            self.assertTrue(math.isclose(left["grad_norm"], right["grad_norm"], rel_tol=1e-2), (left, right))

    def test_replay(self):
        path = self.train("replayed", ["--objective.beta", 0.05, "--train.save_total_limit", 9])[1]
        done = run("replay", path, "--step", 3, "--check")
        self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_supervised(self):
        data = self.file("answers.jsonl", ANSWERS)
        recipe = self.folder / "sft.toml"
        recipe.write_text('[train]\nmax_steps = 3\nsequences_per_step = 8\n[model]\ndtype = "float32"\n')
        for name, options in {"sft": [], "sft-lora": ["--lora.r", 4, "--lora.dropout", 0.4]}.items():
            with self.subTest(name):
                places = ("--model.path", self.folder / "m", "--data.path", data)
                self.check_metrics(
                    self.on_both(name, "sft", recipe, *places, *options), 3, ("loss", "grad_norm")
                )

    def test_preferences_and_reward_models(self):
        recipe = self.folder / "pairs.toml"
        recipe.write_text('[train]\nmax_steps = 3\n[model]\ndtype = "float32"\n')
        for name, command, data, options in (
            ("dpo", "dpo", PAIRS, []),
            ("dpo-lora", "dpo", PAIRS, ["--lora.r", 4]),
            ("reward-model", "reward-train", PAIRS, ["--head.type", "model"]),
            ("process-model", "reward-train", STEPS, ["--head.type", "process"]),
        ):
            with self.subTest(name):
                places = ("--model.path", self.folder / "m", "--data.path", self.file(f"{name}.jsonl", data))
                self.check_metrics(
                    self.on_both(name, command, recipe, *places, *options), 3, ("loss", "grad_norm")
                )

    def test_commands(self):
        model = ("--model", self.folder / "m", "--dtype", "float32")
        prompts = self.file("prompts.jsonl", [{"prompt": f"{i} + {i} ="} for i in range(8)])
        sampled, scored = (
            {device: self.folder / f"{name}-{device}.jsonl" for device in DEVICES} for name in ("s", "l")
        )
        for device in DEVICES:
            places = ("--input", prompts, "--output", sampled[device], "--temperature", 0, "--device", device)
            cohort("sample", *model, *places)
            cohort("score", *model, "--input", sampled["cpu"], "--output", scored[device], "--device", device)
        texts = zip(*(rows(path) for path in sampled.values()), strict=True)
        self.assertGreaterEqual(
            sum(left["completion_ids"] == right["completion_ids"] for left, right in texts), 7
        )
        for left, right in zip(*(rows(path) for path in scored.values()), strict=True):
            for a, b in zip(left["logprobs"], right["logprobs"], strict=True):
                self.assertAlmostEqual(a, b, delta=1e-3)
        for device in DEVICES:
            done = run(
                "bench",
                *model,
                "--repeats",
                1,
                "--device",
                device,
                "--prompt_length",
                16,
                "--completion_length",
                8,
            )
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    if (
        "no CUDA device is found"
        in run("bench", "--model", tiny_run.ROOT / "recipes/demo", "--device", "cuda").stderr
    ):
        print("skipped: no CUDA device is found")
    else:
        unittest.main()
