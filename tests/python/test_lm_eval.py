"""`cohort serve` under lm-eval: a task of choices, which reads log-probabilities of prompts, and one of texts.

COHORT=build/cohort .venv-test/bin/python tests/python/own_environment.py lm-eval test_lm_eval.py 'lm-eval[api]==0.4.13'
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

from chain_model import make_chain_model
from serve_case import Server

ROWS = [
    {"prompt": "[plain]", "choices": ["Hello, world!", "The sum is 5."], "gold": 0},
    {"prompt": "[answer]", "choices": ["Hello, world!", "The sum is 5."], "gold": 1},
    {
        "prompt": "[answer]",
        "choices": ["The sum is 5.", "The sum is 5!"],
        "gold": 1,
    },  # the model says the first
]
TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/rows.jsonl}}}}
test_split: test
doc_to_text: prompt
target_delimiter: ""
"""
CHOICES = """
output_type: multiple_choice
doc_to_choice: choices
doc_to_target: gold
metric_list: [{metric: acc}]
"""
TEXTS = """
output_type: generate_until
doc_to_target: "{{ choices[gold] }}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 20}
metric_list: [{metric: exact_match}]
"""


class LmEvalTest(unittest.TestCase):
    def test_choices_and_texts(self):
        with tempfile.TemporaryDirectory(prefix="cohort-lm-eval-") as name:
            folder = pathlib.Path(name)
            (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
            for task, text in (("choices", CHOICES), ("texts", TEXTS)):
                (folder / f"{task}.yaml").write_text(TASK.format(name=task, folder=folder) + text)
            model = make_chain_model(folder / "chain")
            with Server(model) as server:
                arguments = (
                    f"model=chain,base_url={server.url}/completions,tokenizer={model},"
                    "tokenizer_backend=huggingface,num_concurrent=2"
                )
                result = subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "lm_eval",
                        "run",
                        "--model",
                        "local-completions",
                        "--model_args",
                        arguments,
                    ]
                    + ["--tasks", "choices,texts", "--include_path", folder, "--output_path", folder / "out"],
                    capture_output=True,
                    text=True,
                    env=os.environ | {"HF_HOME": str(folder / "hub")},
                )
            self.assertEqual(result.returncode, 0, result.stderr)
            (path,) = (folder / "out").rglob("results_*.json")
            results = json.loads(path.read_text())["results"]
        self.assertAlmostEqual(results["choices"]["acc,none"], 2 / 3)
        self.assertAlmostEqual(results["texts"]["exact_match,none"], 2 / 3)


if __name__ == "__main__":
    unittest.main()
