"""Checkpoints and adapters as models, and models whose weights are no numbers, from outside.

COHORT=build/cohort python3 tests/cli/test_checkpoints.py
"""

import json
import shutil
import unittest

import cli_case
from cli_case import VOCABULARY, read_lines, run, write_lines
from run_case import RunsTest

setUpModule = cli_case.setUpModule


def fill_row_with_nan(path, name, row):
    """One row of a float32 matrix of a safetensors file."""
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    matrix = json.loads(content[8:start])[name]
    width = 4 * matrix["shape"][1]
    begin = start + matrix["data_offsets"][0] + row * width
    content[begin : begin + width] = b"\x00\x00\xc0\x7f" * matrix["shape"][1]
    path.write_bytes(content)


class CheckpointTest(RunsTest):
    """A checkpoint is a model directory, or an adapter's, for every command."""

    def use(self, directory, base=None):
        """What sample, score and eval make of a directory; `base` with it as --adapter for comparison."""
        model = ("--model", base, "--adapter", directory) if base else ("--model", directory)
        output = self.place / "used.jsonl"
        options = ("--input", self.data, "--output", output, "--max_completion_length", 5)
        self.cohort("sample", *model, *options)
        rows = read_lines(output)
        self.cohort("score", *model, "--input", output, "--output", self.place / "scored.jsonl")
        self.assertEqual(
            [row["logprobs"] for row in read_lines(self.place / "scored.jsonl")],
            [row["logprobs"] for row in rows],
        )
        self.cohort("eval", *model, *options[:2], "--reward", "accuracy", "--output", self.place / "e.json")
        return rows

    def test_of_whole_models(self):
        for dtype in ("float32", "bfloat16"):
            with self.subTest(dtype=dtype):
                self.train(dtype, "--model.dtype", dtype)
                run_dir = self.place / dtype
                middle, last = (run_dir / f"checkpoints/step-0000000{step}" for step in (2, 4))
                self.assertIn("Qwen3ForCausalLM", self.cohort("info", middle).stdout)
                self.assertNotEqual(self.use(middle), self.use(last))
                # Rounded to the run's dtype the last checkpoint is the final model.
                self.cohort("merge", "--model", last, "--output", self.place / f"merged-{dtype}")
                merged = {path.name: path.read_bytes() for path in (self.place / f"merged-{dtype}").iterdir()}
                final = {path.name: path.read_bytes() for path in (run_dir / "final").iterdir()}
                self.assertEqual(merged, final)

    def test_a_run_begins_from_one(self):
        self.train("first")
        checkpoint = self.place / "first/checkpoints/step-00000002"
        self.train("second", "--model.path", checkpoint)
        self.assertFalse((self.place / "second/final/state.json").exists())
        self.assertFalse((self.place / "second/final/optimizer.safetensors").exists())

    def test_of_adapters(self):
        self.train("lora", "--lora.r", 3)
        checkpoint, final = self.place / "lora/checkpoints/step-00000004", self.place / "lora/final"
        info = self.cohort("info", checkpoint).stdout
        self.assertIn("LoRA, r 3, alpha 32", info)
        self.assertIn(str(self.model), info)
        self.assertEqual(self.use(checkpoint), self.use(final, base=self.model))
        self.assertEqual(self.use(checkpoint), self.use(final))
        for name, arguments in (
            ("one", ("--model", checkpoint)),
            ("two", ("--model", self.model, "--adapter", final)),
        ):
            self.cohort("merge", *arguments, "--output", self.place / name)
        self.same_records(self.place / "one", self.place / "two", ("model.safetensors", "config.json"))

    def test_checkpoints_of_earlier_versions(self):
        self.train("whole")
        shutil.copytree(self.place / "whole", self.place / "run")
        self.step_back(self.place / "run")
        checkpoint = self.place / "run/checkpoints/step-00000002"
        (checkpoint / "model.safetensors").rename(checkpoint / "weights.safetensors")
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            (checkpoint / name).unlink()
        error = run("info", checkpoint)
        self.assertEqual(error.returncode, 2)
        self.assertIn("is a checkpoint of an earlier version", error.stderr)
        self.train("run", "--resume")
        self.same_records(self.place / "whole", self.place / "run")

    def test_a_run_is_no_model(self):
        self.train("run")
        error = run("info", self.place / "run")
        self.assertEqual(error.returncode, 2)
        self.assertIn("run/final", error.stderr)


class AdapterStartTest(RunsTest):
    def test_a_run_goes_on_with_an_adapter(self):
        self.train("first", "--lora.r", 4, "--lora.alpha", 16)
        first = self.place / "first/final"
        self.train("second", "--lora.path", first)
        # The first step samples with the adapter that was read.
        self.assertIn("r = 4", (self.place / "second/config.toml").read_text())
        self.assertIn("alpha = 16.0", (self.place / "second/config.toml").read_text())
        self.cohort("merge", "--model", first, "--output", self.place / "merged")
        self.train("third", "--model.path", self.place / "merged", "--lora.r", 4)
        drawn = [
            [row["completion_ids"] for row in read_lines(self.place / f"{name}/completions.jsonl")[:6]]
            for name in ("first", "second", "third")
        ]
        self.assertNotEqual(drawn[0], drawn[1])
        self.assertEqual(drawn[1], drawn[2])
        saved = json.loads((self.place / "second/final/adapter_config.json").read_text())
        self.assertEqual((saved["r"], saved["base_model_name_or_path"]), (4, str(self.model)))

        for options, part in (
            (("--lora.r", 8), "lora.r = 8 where the adapter has 4"),
            (("--lora.alpha", 32), "lora.alpha = 32.0 where the adapter has 16.0"),
            (("--lora.target_modules", "q_proj"), "lora.target_modules"),
        ):
            error = self.train("wrong", "--lora.path", first, *options, code=2)
            self.assertIn(part, error)
        self.train("same", "--lora.path", first, "--lora.r", 4, "--lora.target_modules", "all-linear")
        self.same_records(self.place / "same", self.place / "second", ["metrics.jsonl"])

    def test_it_is_resumed(self):
        self.train("first", "--lora.r", 2)
        start = ("--lora.path", self.place / "first/final")
        self.train("second", *start)
        expected = (self.place / "second/metrics.jsonl").read_bytes()
        self.step_back(self.place / "second")
        self.train("second", *start, "--resume")
        self.assertEqual((self.place / "second/metrics.jsonl").read_bytes(), expected)

    def test_the_reference_is_the_model_with_it(self):
        self.train("first", "--lora.r", 2, "--optimizer.learning_rate", 0.05)
        options = ("--objective.beta", 0.1)
        self.train("second", "--lora.path", self.place / "first/final", *options)
        self.assertEqual(read_lines(self.place / "second/metrics.jsonl")[0]["kl"], 0.0)
        self.assertNotEqual(read_lines(self.place / "second/metrics.jsonl")[-1]["kl"], 0.0)

    def test_an_adapter_is_no_start_of_its_own(self):
        self.train("first", "--lora.r", 2)
        error = self.train("wrong", "--model.path", self.place / "first/final", code=2)
        self.assertIn("is an adapter, not a whole model: set lora.path", error)
        self.assertFalse((self.place / "wrong").exists())
        base = self.place / "first/final/adapter_config.json"
        base.write_text(base.read_text().replace(str(self.model), "org/elsewhere"))
        for arguments in (
            ("info", self.place / "first/final"),
            ("merge", "--model", self.place / "first/final", "--output", self.place / "out"),
            ("sample", "--model", self.place / "first/final", "--input", self.data, "--output", "out"),
        ):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn('its base model "org/elsewhere"', result.stderr)
            self.assertIn("--adapter", result.stderr)


class NoNumbersTest(RunsTest):
    """Weights that hold NaN or overflow: every command that reads log-probabilities says so."""

    def test_commands(self):
        for name, pattern in (("nan", b"\xff\xff\xff\x7f"), ("large", b"\x00\x00\x7f\x7f")):
            model = self.place / name
            shutil.copytree(self.model, model)
            path = model / "model.safetensors"
            path.write_bytes(path.read_bytes()[:-400] + pattern * 100)
            ids = write_lines(self.place / "ids.jsonl", [{"prompt_ids": [5, 6], "completion_ids": [7, 8]}])
            output = self.place / "out.jsonl"
            for command, source, options in (
                ("eval", self.data, ("--reward", "accuracy", "--max_completion_length", 4)),
                ("sample", self.data, ("--max_completion_length", 4)),
                ("score", ids, ()),
            ):
                with self.subTest(name=name, command=command):
                    result = run(command, "--model", model, "--input", source, "--output", output, *options)
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn(f"{model}: the model's log-probabilities are not finite", result.stderr)
                    self.assertFalse(output.exists())

    def test_one_logit(self):
        model = self.place / "one"
        shutil.copytree(self.model, model)
        fill_row_with_nan(model / "model.safetensors", "lm_head.weight", VOCABULARY - 1)
        output = self.place / "out.jsonl"
        shared = ("--model", model, "--max_completion_length", 4)
        for options in (
            (),
            ("--top-k", 5),
            ("--top-k", 1, "--temperature", 0),
            ("--top-p", 0.5),
            ("--min-p", 0.1),
            ("--stop-token-ids", VOCABULARY - 1, "--min-tokens", 4),
        ):
            for command in (
                ("eval", "--input", self.data, "--reward", "accuracy", "--output", output),
                ("sample", "--input", self.data, "--output", output),
                ("sample", "--prompt", "2 + 2 ="),
            ):
                with self.subTest(command=command[:2], options=options):
                    result = run(*command, *shared, *options)
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn(f"{model}: the model's log-probabilities are not finite", result.stderr)
                    self.assertFalse(output.exists())


if __name__ == "__main__":
    unittest.main()
