"""Tools that the program has itself, from outside: each is called in two steps of training, and wrong keys are refused.

COHORT=build/cohort python3 tests/cli/test_tools.py

A tiny model learns by heart one call for each tool, so that its episodes make calls.
"""

import json
import os
import subprocess
import sys
import unittest

import cli_case
from cli_case import CliTest, read_lines, run, write_lines

TEMPLATE = """{%- for m in messages -%}
{{ m.role[0] | upper }}:{{ m.content }}{{ eos_token if m.role == 'assistant' else '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}A:{%- endif -%}"""
CALLS = {
    "code": {"name": "python", "arguments": {"code": "6*7"}},
    "shell": {"name": "bash", "arguments": {"command": "echo $((6*7))"}},
    "find": {"name": "search", "arguments": {"query": "river"}},
    "add": {"name": "add", "arguments": {"a": 40, "b": 2}},
}
SFT = """
seed = 3
[model]
path = "{model}"
chat_template = "{folder}/template.jinja"
dtype = "float32"
[data]
path = "{folder}/calls.jsonl"
[optimizer]
learning_rate = 2e-2
lr_scheduler_type = "constant"
[train]
max_steps = 60
"""
GRPO = """
seed = 3
[model]
path = "{folder}/learned/final"
chat_template = "{folder}/template.jinja"
dtype = "float32"
[data]
path = "{folder}/rows.jsonl"
[rollout]
prompts_per_step = 1
num_generations = 4
max_completion_length = 120
temperature = 1.0
[environment]
max_turns = 3
tool_call_format = "json"
[[reward]]
name = "length"
max_length = 80
[optimizer]
learning_rate = 1e-3
lr_scheduler_type = "constant"
[train]
max_steps = 2
"""
# An ordinary user may not bound memory.
WAIVED = [] if os.geteuid() == 0 else ["--tool.0.waive-layers", "memory"]


def setUpModule():
    """Teaches the model its calls, once for all tests."""
    cli_case.setUpModule()
    folder = CliTest.folder
    (folder / "template.jinja").write_text(TEMPLATE)
    rows = [
        {
            "prompt": [{"role": "user", "content": word}],
            "completion": [{"role": "assistant", "content": json.dumps(call)}],
        }
        for word, call in CALLS.items()
    ]
    write_lines(folder / "calls.jsonl", rows)
    recipe = folder / "sft.toml"
    recipe.write_text(SFT.format(model=CliTest.model, folder=folder))
    cli_case.must_run("sft", recipe, "--run-dir", folder / "learned", "--threads", 1)


class ToolsTest(CliTest):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        self.recipe = self.place / "recipe.toml"

    def train(self, word, *options, name="run", code=0):
        self.recipe.write_text(GRPO.format(folder=self.folder).replace("rows.jsonl", f"{word}.jsonl"))
        write_lines(self.folder / f"{word}.jsonl", [{"prompt": [{"role": "user", "content": word}]}])
        result = run("train", self.recipe, "--run-dir", self.place / name, "--threads", 1, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def results(self, name="run"):
        """What the tools answered; the run must be exact."""
        metrics = read_lines(self.place / name / "metrics.jsonl")
        self.assertIn(0, [line["sampling/sampling_logp_difference/max"] for line in metrics])
        for line in metrics:
            self.assertIn(
                line["sampling/sampling_logp_difference/max"], (0, None)
            )  # None if all rewards are equal
            self.assertEqual(line["episodes/failed"], 0)
        rows = read_lines(self.place / name / "completions.jsonl")
        self.assertEqual(len(rows), 8)
        return [m["content"] for row in rows for m in row["messages"] if m["role"] == "tool"]

    def check_repeats(self, *arguments):
        self.train(*arguments, name="again")
        for file in ("metrics.jsonl", "completions.jsonl", "final/model.safetensors"):
            self.assertEqual(
                (self.place / "run" / file).read_bytes(), (self.place / "again" / file).read_bytes(), file
            )

    def test_python_in_the_sandbox(self):
        arguments = ("code", "--tool.0.type", "code_interpreter", *WAIVED)
        self.train(*arguments)
        self.assertIn("42", self.results())
        self.check_repeats(*arguments)

    def test_a_shell_in_the_sandbox(self):
        arguments = ("shell", "--tool.0.type", "bash", *WAIVED)
        self.train(*arguments)
        self.assertIn("42", self.results())
        self.check_repeats(*arguments)

    def texts(self):
        texts = self.place / "texts"
        texts.mkdir()
        (texts / "fish.txt").write_text("Fish swim in the river.")
        return texts

    def test_a_search_in_a_folder(self):
        arguments = ("find", "--tool.0.type", "retrieval", "--tool.0.folder", self.texts())
        self.train(*arguments)
        found = [{"title": "fish.txt", "passage": "Fish swim in the river."}]
        self.assertIn(found, [json.loads(result) for result in self.results()])
        self.check_repeats(*arguments)

    def test_a_server(self):
        script = cli_case.ROOT / "tests" / "env" / "tool_server.py"
        server = subprocess.Popen(
            [sys.executable, "-u", script, self.place / "log"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.stdin.close)
        self.addCleanup(server.stdout.close)
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        arguments = ("add", "--tool.0.type", "http", "--tool.0.url", url + "/fair")
        self.train(*arguments)
        self.assertIn("42", self.results())
        self.check_repeats(*arguments)
        # A server that fails masks the episodes that call it.
        errors = self.train("add", *arguments[1:4], url + "/status500", "--tool.0.schema",
                            json.dumps(SCHEMA), "--tool.0.retries", 0, name="broken")  # fmt: skip
        self.assertIn("because their environment failed: the server of the tool add: HTTP 500", errors)

    def test_wrong_keys_are_refused(self):
        texts = self.texts()
        (texts / "bad.txt").write_bytes(b"\xff")
        cases = [
            (["retrieval"], "tool.folder is missing"),
            (["retrieval", "--tool.0.folder", texts / "nowhere"], "tool.folder: there is no folder"),
            (["retrieval", "--tool.0.folder", texts], "bad.txt:1: not UTF-8"),
            (["retrieval", "--tool.0.folder", self.folder / "learned/checkpoints"], "has no text in files"),
            (["http"], "tool.url is missing"),
            (["http", "--tool.0.url", "http://127.0.0.1:9/x"], "tool.url: GET http://127.0.0.1:9/x/describe"),
            (["http", "--tool.0.url", "localhost"], "`url` must be an address"),
            (["bash", "--tool.0.timeout-s", 60], "must be below environment.timeout_s"),
            (["bash", "--tool.0.folder", texts], "tool.folder has no effect"),
            (["bash", "--tool.0.waive-layers", "memry"], 'did you mean "memory"?'),
            (["code_interpreter", "--tool.0.memory-mb", 1], "memory_mb"),
            (["code_interpreter", "--tool.0.runtime", "/nowhere"], '`runtime` names "/nowhere"'),
            (["code-interpreter"], "code_interpreter"),
        ]
        for (kind, *options), text in cases:
            with self.subTest(kind, options=options):
                errors = self.train("code", "--tool.0.type", kind, *options, name="refused", code=2)
                self.assertIn(text, errors.splitlines()[-1])
                self.assertFalse((self.place / "refused").exists())


INTEGER = {"type": "integer"}
SCHEMA = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two integers.",
        "parameters": {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}},
    },
}


if __name__ == "__main__":
    unittest.main()
