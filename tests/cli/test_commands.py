"""The program from outside: help, texts and tokens, chat templates, model directories, measurements.

COHORT=build/cohort python3 tests/cli/test_commands.py
"""

import json
import os
import re
import shutil
import subprocess
import unittest

import cli_case
from cli_case import CONFIG, CONTEXT, PROGRAM, ROOT, VOCABULARY, CliTest, parse_lines, run

setUpModule = cli_case.setUpModule


COMMANDS = [
    "sample",
    "score",
    "eval",
    "verify",
    "dpo",
    "reward-train",
    "tokenize",
    "detokenize",
    "render",
    "data",
    "get",
    "init",
    "info",
    "bench",
    "docs",
]


def num_parameters():
    c = CONFIG
    hidden, width = c["hidden_size"], c["head_dim"]
    attention = 2 * hidden * width * (c["num_attention_heads"] + c["num_key_value_heads"]) + 2 * width
    layer = attention + 3 * hidden * c["intermediate_size"] + 2 * hidden
    return 2 * c["vocab_size"] * hidden + c["num_hidden_layers"] * layer + hidden


class HelpTest(CliTest):
    def test_every_command_lists_its_keys(self):
        usage = self.cohort("--help").stdout
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertIn(command, usage)
                text = self.cohort(command, "--help").stdout
                self.assertTrue(text.startswith(f"cohort {command} "), text)
        self.assertIn("--temperature", self.cohort("sample", "--help").stdout)

    def test_no_command_prints_the_usage(self):
        result = run()
        self.assertEqual(result.returncode, 2)
        self.assertIn("sample", result.stdout)

    def test_version_names_the_project_and_torch(self):
        self.assertRegex(self.cohort("--version").stdout, r"^cohort \d+\.\d+\.\d+, with torch \d+\.\d+")

    def test_docs_prints_the_page_that_lies_in_docs(self):
        page = self.cohort("docs", "configuration").stdout
        self.assertEqual(page, (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8"))


class ThreadsTest(CliTest):
    """How long threads wait for each other before they sleep; libgomp prints what it took."""

    def spin_count(self, **environment):
        names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
        rest = {name: value for name, value in os.environ.items() if name not in names}
        result = subprocess.run(
            [PROGRAM, "--help"],
            env={**rest, "OMP_DISPLAY_ENV": "verbose", **environment},
            capture_output=True,
            text=True,
        )
        return re.search(r"GOMP_SPINCOUNT = '(\w+)'", result.stderr)[1]

    def test_short_spinning_unless_told_otherwise(self):
        self.assertEqual(self.spin_count(), "30000")
        self.assertEqual(self.spin_count(GOMP_SPINCOUNT="77"), "77")
        self.assertEqual(self.spin_count(OMP_WAIT_POLICY="passive"), "0")


class TextTest(CliTest):
    def test_tokens_of_a_text_and_back(self):
        texts = [
            "",
            "2 + 3",
            "<think>so</think><answer>1</answer>",
            "é 漢字 🎲\n\ttab",
            "line\u2028end",
            '"\\',
        ]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        tokens = self.cohort("tokenize", "--model", self.tokenizer, stdin=lines).stdout
        rows = parse_lines(tokens)
        self.assertEqual(len(rows), len(texts))
        self.assertEqual(rows[0], {"ids": []})
        self.assertEqual(rows[2]["ids"][0], 1)  # <think> is one token of the demo's tokenizer
        back = self.cohort("detokenize", "--model", self.tokenizer, stdin=tokens).stdout
        self.assertEqual(parse_lines(back), [{"text": text} for text in texts])

    def test_offsets_are_in_code_points(self):
        lines = json.dumps({"text": "é<think>"}) + "\n"
        row = parse_lines(
            self.cohort("tokenize", "--model", self.tokenizer, "--offsets", stdin=lines).stdout
        )[0]
        self.assertEqual(row["ids"][-1], 1)
        self.assertEqual(row["offsets"][-1], [1, 8])
        self.assertEqual({tuple(span) for span in row["offsets"][:-1]}, {(0, 1)})

    def test_special_tokens_can_be_left_out(self):
        line = '{"ids": [0, 1]}\n'
        self.assertEqual(
            self.cohort("detokenize", "--model", self.tokenizer, "--skip-special-tokens", stdin=line).stdout,
            '{"text":"<think>"}\n',
        )
        shown = self.cohort("detokenize", "--model", self.tokenizer, stdin=line).stdout
        self.assertEqual(shown, '{"text":"<|endoftext|><think>"}\n')

    def test_ids_of_a_padded_vocabulary_have_no_text(self):
        line = json.dumps({"ids": [VOCABULARY - 1]}) + "\n"
        self.assertEqual(self.cohort("detokenize", "--model", self.model, stdin=line).stdout, '{"text":""}\n')


class RenderTest(CliTest):
    TEMPLATE = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content or raise_exception('say something') }}{% endfor %}"
        "{{ strftime_now('|%a %d %b %Y %H:%M:%S') }}"
    )

    def render(self, text, *options, template=TEMPLATE):
        model = self.folder / "chat"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(self.tokenizer, model)
        if template is not None:
            (model / "chat_template.jinja").write_text(template)
        path = self.folder / "chat.jsonl"
        path.write_text(text, encoding="utf-8")
        return run("render", "--model", model, "--input", path, *options)

    def test_a_refusal_is_said_on_its_line_and_the_rest_goes_on(self):
        lines = [
            '{"messages": [{"role": "user", "content": "hi"}]}',
            '{"messages": [{"role": "user", "content": ""}]}',
            "",
            '{"messages": [{"role": "user"',
            '{"prompt": "hi"}',
            '{"messages": [{"role": "user", "content": {"a": 1}}], "continue_final_message": 5}',
            '{"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": "yes"}',
            '{"messages": [{"role": "user", "content": "hé"}], "unknown": 1}',
        ]
        result = self.render("\n".join(lines), "--now", "2027-03-04T05:06:07")
        rows = parse_lines(result.stdout)
        self.assertEqual([sorted(row) for row in rows], [["ids", "text"], *[["error"]] * 5, ["ids", "text"]])
        self.assertEqual(rows[0]["text"], "<user>hi|Thu 04 Mar 2027 05:06:07")
        self.assertEqual(rows[1]["error"], "say something")
        self.assertIn("chat.jsonl:4: malformed JSON at byte", rows[2]["error"])
        self.assertIn("messages", rows[3]["error"])
        self.assertIn("continue_final_message", rows[4]["error"])
        self.assertIn("add_generation_prompt", rows[5]["error"])
        self.assertEqual(result.returncode, 2)
        self.assertIn("chat.jsonl: 5 conversations were refused", result.stderr)

    def test_ids_are_those_of_the_text_without_more(self):
        result = self.render(
            '{"messages": [{"role": "user", "content": "2 + 3"}]}\n', template="{{ messages[0].content }}"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        text = self.cohort("detokenize", "--model", self.tokenizer, stdin=result.stdout).stdout
        self.assertEqual(parse_lines(text), [{"text": "2 + 3"}])

    def test_wrong_arguments(self):
        for now in ["now", "2027-03-04", "2027-02-30T00:00:00", "2027-03-04T05:06:07Z"]:
            result = self.render("", "--now", now)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f'--now must be a time such as 2027-03-04T05:06:07, not "{now}"', result.stderr)
        result = self.render("", template=None)
        self.assertEqual(result.returncode, 2)
        self.assertIn("has no chat template", result.stderr)
        result = self.render("", template="{% if %}")
        self.assertEqual(result.returncode, 2)
        self.assertIn("chat_template.jinja: line 1: ", result.stderr)


class ModelDirectoryTest(CliTest):
    def init(self, name, *options):
        output = self.folder / name
        self.cohort(
            "init", "--config", self.config, "--tokenizer", self.tokenizer, "--output", output, *options
        )
        return output

    def test_init_is_a_function_of_the_seed(self):
        weights = (self.model / "model.safetensors").read_bytes()
        self.assertEqual((self.init("same", "--seed", 3) / "model.safetensors").read_bytes(), weights)
        self.assertNotEqual((self.init("other", "--seed", 4) / "model.safetensors").read_bytes(), weights)

    def test_init_writes_a_whole_directory(self):
        folder = self.init("half/", "--dtype", "bfloat16")
        names = sorted(path.name for path in folder.iterdir())
        self.assertEqual(
            names, ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
        )
        self.assertEqual(json.loads((folder / "config.json").read_text())["dtype"], "bfloat16")

    def test_info_states_sizes(self):
        count = num_parameters()
        text = self.cohort("info", self.model).stdout
        for part in [
            "Qwen3ForCausalLM",
            f"parameters    {count}\n",
            f"{CONTEXT} tokens",
            "of Float",
            "0 <|endoftext|>",
            "KV cache 512 bytes a token",  # 2 layers, keys and values of 2 heads of 16, 4 bytes each
            "KV cache 256 bytes a token",
            "float32       20 bytes a parameter to train",
            "bfloat16      18 bytes a parameter to train",
            f"gradients {4 * count / 1024:.1f} KiB, optimizer {8 * count / 1024:.1f} KiB",
            f"weights {6 * count / 1024:.1f} KiB, program",
            f"planned for   8 prompts of {CONTEXT // 2} tokens x 8 completions of {CONTEXT - CONTEXT // 2}",
        ]:
            self.assertIn(part, text)
        self.assertIn("prompts must be token ids", self.cohort("info", self.no_tokenizer).stdout)

    def test_info_lists_every_unsupported_key(self):
        folder = self.folder / "unsupported"
        shutil.copytree(self.model, folder)
        config = json.loads((folder / "config.json").read_text())
        config |= {"hidden_act": "relu", "quantization_config": {"bits": 4}, "head_dim": 3}
        config["rope_parameters"] = {"rope_type": "spiral", "rope_theta": 1e4}
        (folder / "config.json").write_text(json.dumps(config))
        result = run("info", folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("listed above", result.stderr)
        lines = [line for line in result.stdout.splitlines() if line.startswith("unsupported")]
        self.assertEqual(len(lines), 4, lines)
        for key in ("hidden_act", "quantization_config", "head_dim", "rope_parameters"):
            self.assertTrue(any(f'"{key}' in line for line in lines), key)
        self.assertIn("Qwen3ForCausalLM", result.stdout)


class BenchTest(CliTest):
    def test_every_measurement_stands_beside_its_ceiling(self):
        sizes = ("--prompt_length", 20, "--completion_length", 4, "--repeats", 1, "--dtype", "float32")
        report = json.loads(self.cohort("bench", "--json", "--model", self.model, *sizes).stdout)
        table = self.cohort("bench", "--model", self.model, *sizes).stdout
        names = ["prefill", "decode, 1 stream", "decode, 8 streams", "decode, 64 streams", "training"]
        self.assertEqual([line["name"] for line in report["lines"]], names)
        for line in report["lines"]:
            self.assertGreater(line["tokens_per_s"], 0)
            self.assertGreater(line["ceiling_tokens_per_s"], 0)
            self.assertAlmostEqual(line["share"], line["tokens_per_s"] / line["ceiling_tokens_per_s"])
            self.assertIn(line["name"], table)
        self.assertGreater(report["gflops"], 0)
        self.assertGreater(report["peak_memory_bytes"], 1 << 20)

    def test_decodes_as_many_streams_as_asked_for(self):
        sizes = ("--prompt_length", 20, "--completion_length", 4, "--repeats", 1, "--dtype", "float32")
        asked = ("--json", "--model", self.model, "--measure", "decode", "--streams", 3)
        report = json.loads(self.cohort("bench", *asked, *sizes).stdout)
        self.assertEqual([line["name"] for line in report["lines"]], ["decode, 3 streams"])


if __name__ == "__main__":
    unittest.main()
