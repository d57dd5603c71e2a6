"""What the tests of the program from outside share: a tiny random model, files of prompts, and ways to call it.

The programs are plain python3 without packages. The model is made by `cohort init` with the demo's tokenizer.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

# Threads that wait by spinning take the cores from each other where tests run side by side: 17 s became 0.8.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "recipes" / "demo"

# A large initializer_range, so that the tokens' probabilities differ widely and every weight matters.
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 420,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "initializer_range": 0.4,
    "tie_word_embeddings": False,
    "eos_token_id": 0,
}
CONTEXT, VOCABULARY = CONFIG["max_position_embeddings"], CONFIG["vocab_size"]
COMPLETION_LENGTH = 12

# Lengths around the edges of cache pages (16) and attention tiles (64).
PROMPT_LENGTHS = [1, 15, 16, 17, 64, 130]


def run(*arguments, stdin=None, **options):
    """The ended program with its texts; `options` are subprocess.run's, such as cwd and env."""
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, encoding="utf-8", **options)


def must_run(*arguments):
    result = run(*arguments)
    assert result.returncode == 0, result.stderr


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def parse_lines(text):
    """Not str.splitlines, which cuts at U+2028 too."""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def read_lines(path):
    return parse_lines(path.read_text(encoding="utf-8"))


def prompt_rows():
    """Any ids of the vocabulary, those without a token in the tokenizer included."""
    return [{"prompt_ids": [(7 + 31 * i + 101 * n) % VOCABULARY for i in range(n)]} for n in PROMPT_LENGTHS]


def setUpModule():
    """One model for all tests, which only read it."""
    folder = tempfile.TemporaryDirectory(prefix="cohort-cli-")
    unittest.addModuleCleanup(folder.cleanup)
    files = CliTest
    files.folder = pathlib.Path(folder.name)
    files.config = files.folder / "config.json"
    files.config.write_text(json.dumps(CONFIG))
    files.tokenizer = files.folder / "tokenizer"
    files.tokenizer.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(DEMO / name, files.tokenizer)
    files.model = files.folder / "model"
    must_run(
        "init", "--config", files.config, "--tokenizer", files.tokenizer, "--seed", 3, "--output", files.model
    )
    files.no_tokenizer = files.folder / "no-tokenizer"
    shutil.copytree(files.model, files.no_tokenizer)
    (files.no_tokenizer / "tokenizer.json").unlink()
    files.prompts = write_lines(files.folder / "prompts.jsonl", prompt_rows())
    files.texts = write_lines(
        files.folder / "texts.jsonl", [{"prompt": "2 + 3 ="}, {"prompt": "numbers: 4 5 6"}]
    )
    files.countdown = files.folder / "countdown.jsonl"
    must_run("data", "countdown", "--count", 6, "--seed", 1, "--output", files.countdown)


class CliTest(unittest.TestCase):
    def cohort(self, *arguments, stdin=None):
        result = run(*arguments, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def sample(self, *options, model=None, prompts=None, generations=3, seed=5):
        output = self.folder / "samples.jsonl"
        self.cohort(
            *(
                "sample",
                "--model",
                model or self.model,
                "--input",
                prompts or self.prompts,
                "--output",
                output,
            ),
            *("--num-generations", generations, "--max-completion-length", COMPLETION_LENGTH, "--seed", seed),
            *options,
        )
        return read_lines(output)

    def score(self, rows, *options):
        output = self.folder / "scores.jsonl"
        samples = write_lines(self.folder / "samples-to-score.jsonl", rows)
        self.cohort("score", "--model", self.model, "--input", samples, "--output", output, *options)
        return [row["logprobs"] for row in read_lines(output)]


class RefusalTest(CliTest):
    """One clear line, exit code 2, and nothing written."""

    def refused(self, arguments, *parts, stdin=None):
        output = self.folder / "refused"
        result = run(*[output if argument == "OUT" else argument for argument in arguments], stdin=stdin)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"\Acohort: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(str(part), result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertFalse(output.exists())

    def broken_model(self, name, change):
        """A copy of the model, changed."""
        folder = self.folder / f"broken-{name}"
        if not folder.exists():
            shutil.copytree(self.model, folder)
            change(folder)
        return folder
