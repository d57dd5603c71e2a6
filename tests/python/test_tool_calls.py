"""Tool calls as transformers parses them with TRL's response templates, and tool schemas as transformers makes them.

COHORT=build/cohort .venv-test/bin/python tests/python/test_tool_calls.py
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing
import unittest

from transformers import AutoTokenizer
from transformers.utils import get_json_schema
from transformers.utils.chat_parsing import parse_response
from trl import chat_template_utils as trl

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "apps/python"))
from tool_schema import ToolError, schema_of  # noqa: E402

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer"},
                    "b": {"type": "number"},
                    "text": {"type": "string"},
                    "flag": {"type": "boolean"},
                    "items": {"type": "array"},
                    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                },
            },
        },
    }
]
# For each format TRL's response template, the prompt's end and turns in it. The stop token is added for transformers.
HERMES = [
    "Plain text.",
    '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2.5}}\n</tool_call>',
    'First.\n<tool_call>\n{"name": "add", "arguments": {"text": "é \\"q\\" <b>"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    "<think>\nI add them.\n</think>\n\nThe sum is 3.",
    '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "add", "arguments": {"items": [1, {"k": null}]}}\n</tool_call>',
]
QWEN_XML = [
    "<tool_call>\n<function=add>\n<parameter=a>\n7\n</parameter>\n<parameter=b>\n-2.5\n</parameter>\n</function>\n</tool_call>",
    "Text.\n\n<tool_call>\n<function=add>\n<parameter=text>\n7\n</parameter>\n<parameter=flag>\nTrue\n</parameter>\n"
    "<parameter=maybe>\nnull\n</parameter>\n<parameter=items>\n[1, 2]\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>\n<function=g>\n</function>\n</tool_call>",
]
GEMMA4 = [
    'Text<|tool_call>call:add{a:1,text:<|"|>x, {y}<|"|>,flag:true}<tool_call|>',
    '<|tool_call>call:add{items:[1,<|"|>z<|"|>]}<tool_call|><|tool_call>call:f{}<tool_call|>',
]
GLM = [
    "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>7</arg_value>\n<arg_key>text</arg_key>\n<arg_value>7</arg_value>\n</tool_call>"
]
LFM2 = ["<|tool_call_start|>[add(a=1, text='two'), f()]<|tool_call_end|>"]
GPT_OSS = [
    "<|channel|>final<|message|>Four.",
    '<|channel|>analysis<|message|>I need it.<|end|><|start|>assistant to=functions.add<|channel|>commentary json<|message|>{"a": 1}',
]
LLAMA3 = ["Plain.", '{"name": "add", "parameters": {"a": 1}}']
CASES = [
    ("hermes", trl.qwen3_template, "<|im_start|>assistant\n", "<|im_end|>", HERMES),
    ("qwen_xml", trl.qwen3_5_template, "<|im_start|>assistant\n", "<|im_end|>", QWEN_XML),
    ("gemma4", trl.gemma4_template, "<|turn>model\n", "<turn|>", GEMMA4),
    ("glm", trl.glm4moe_template, "<|assistant|>", "<|user|>", GLM),
    ("lfm2", trl.lfm2_2_5_template, "<|im_start|>assistant\n", "<|im_end|>", LFM2),
    ("harmony", trl.gptoss_template, "<|start|>assistant", "<|call|>", GPT_OSS),
    (
        "llama3",
        trl.llama3_template,
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|eot_id|>",
        LLAMA3,
    ),
]


#: The format of each of TRL's templates.
FORMATS = {
    "qwen2_5": "hermes", "qwen3": "hermes", "qwen3_instruct_2507": "hermes", "qwen3_5_think": "qwen_xml",
    "qwen3_8": "qwen_xml", "nemotron_3_nano": "qwen_xml", "glm4moe": "glm", "gptoss": "harmony", "gemma4": "gemma4",
    "llama3_1": "llama3", "llama3_2": "llama3", "deepseekv3": "deepseek", "lfm2_2_5": "lfm2",
}  # fmt: skip


def own(format_name, texts):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("".join(json.dumps({"completion": text, "tools": TOOLS}) + "\n" for text in texts))
        file.flush()
        result = subprocess.run(
            [PROGRAM, "verify-tools", file.name, "--format", format_name], capture_output=True, text=True
        )
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


class ToolCallsTest(unittest.TestCase):
    def test_turns_parse_as_in_transformers(self):
        for name, template, prefix, stop, texts in CASES:
            ends = [stop if "final" not in text or name != "harmony" else "<|return|>" for text in texts]
            for text, end, parsed in zip(texts, ends, own(name, texts), strict=True):
                with self.subTest(format=name, text=text):
                    expected = parse_response(text + end, template, prefix=prefix, tools=TOOLS)
                    calls = [call["function"] for call in expected.get("tool_calls", [])]
                    self.assertEqual(parsed["tool_calls"], calls)
                    self.assertEqual(parsed["content"].strip(), (expected.get("content") or "").strip())
                    reasoning = expected.get("reasoning_content", expected.get("thinking", ""))
                    self.assertEqual(parsed["reasoning_content"], reasoning.strip())

    def test_templates_of_families_name_their_formats(self):
        folder = pathlib.Path(trl.__file__).parent / "chat_templates"
        texts = {
            "hermes": '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
            "qwen_xml": "<tool_call><function=f></function></tool_call>",
            "glm": "<tool_call>f</tool_call>",
            "harmony": " to=functions.f<|channel|>commentary json<|message|>{}",
            "gemma4": "<|tool_call>call:f{}<tool_call|>",
            "llama3": '{"name": "f", "parameters": {}}',
            "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "lfm2": "<|tool_call_start|>[f()]<|tool_call_end|>",
        }
        for template, name in FORMATS.items():
            with self.subTest(template), tempfile.TemporaryDirectory() as model:
                for file in ("tokenizer.json", "tokenizer_config.json"):
                    (pathlib.Path(model) / file).write_text((ROOT / "recipes/demo" / file).read_text())
                source = (folder / f"{template}.jinja").read_text()
                (pathlib.Path(model) / "chat_template.jinja").write_text(source)
                rows = pathlib.Path(model) / "rows.jsonl"
                rows.write_text(json.dumps({"completion": texts[name]}))
                result = subprocess.run(
                    [PROGRAM, "verify-tools", rows, "--model", model], capture_output=True, text=True
                )
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(json.loads(result.stdout)["tool_calls"], [{"name": "f", "arguments": {}}])


# Templates of TRL's that take tools, with the token that ends a turn.
REPLIES = {
    "qwen2_5": "<|im_end|>", "qwen3": "<|im_end|>", "qwen3_instruct_2507": "<|im_end|>", "qwen3_5_think": "<|im_end|>",
    "qwen3_8": "<|im_end|>", "nemotron_3_nano": "<|im_end|>", "glm4moe": "<|endoftext|>", "gptoss": "<|call|>",
    "llama3_1": "<|eot_id|>", "llama3_2": "<|eot_id|>", "deepseekv3": "<｜end▁of▁sentence｜>", "lfm2_2_5": "<|im_end|>",
}  # fmt: skip


class ReplyTest(unittest.TestCase):
    """What is appended after a turn is what TRL appends: the rest of a dummy conversation behind its last stop token."""

    def model(self, folder, template, eos):
        source = (pathlib.Path(trl.__file__).parent / "chat_templates" / f"{template}.jinja").read_text()
        tokenizer = json.loads((ROOT / "recipes/demo/tokenizer.json").read_text())
        known = {token["content"] for token in tokenizer["added_tokens"]}
        last = max(max(tokenizer["model"]["vocab"].values()), *(t["id"] for t in tokenizer["added_tokens"]))
        spelled = set(re.findall(r"<[|｜][^<>{}'\" ]+[|｜]>", source)) | {eos}
        for number, content in enumerate(sorted(spelled - known)):
            tokenizer["added_tokens"].append(
                {"id": last + 1 + number, "content": content, "special": True, "single_word": False, "lstrip": False,
                 "rstrip": False, "normalized": False}
            )  # fmt: skip
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": eos, "bos_token": eos}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        (folder / "chat_template.jinja").write_text(source)
        return AutoTokenizer.from_pretrained(folder)

    def expected(self, tokenizer, template, name, messages):
        call = {
            "type": "function",
            "function": {"name": name, "arguments": "{}" if template == "deepseekv3" else {}},
        }
        if template == "qwen3":  # which rewrites turns; TRL trains with another one
            folder = pathlib.Path(trl.__file__).parent / "chat_templates"
            tokenizer.chat_template = (folder / "qwen3_training.jinja").read_text()
        dummy = [
            {"role": "user", "content": "dummy"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
        ]
        arguments = {"tokenize": True, "return_dict": False, "tools": TOOLS}
        prefix = tokenizer.apply_chat_template(dummy, add_generation_prompt=False, **arguments)
        whole = tokenizer.apply_chat_template(dummy + messages, add_generation_prompt=True, **arguments)
        ends = [place for place, token in enumerate(prefix) if token == tokenizer.eos_token_id]
        return whole[ends[-1] + 1 if ends else len(prefix) :]

    def test_replies_are_those_of_trl(self):
        messages = [{"role": "tool", "name": "add", "content": "5 é"}]
        for template, eos in REPLIES.items():
            with self.subTest(template), tempfile.TemporaryDirectory() as place:
                folder = pathlib.Path(place)
                tokenizer = self.model(folder, template, eos)
                calls = {"qwen_xml": QWEN_XML[2].replace("=g", "=add"), "hermes": HERMES[1], "glm": GLM[0], "lfm2": LFM2[0],
                         "harmony": ' to=functions.add<|channel|>commentary json<|message|>{"a": 1}', "llama3": LLAMA3[1],
                         "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{}<｜tool▁call▁end｜>"}  # fmt: skip
                name = FORMATS[template]
                rows = folder / "rows.jsonl"
                rows.write_text(json.dumps({"completion": calls[name], "tools": TOOLS, "reply": messages}))
                result = subprocess.run(
                    [PROGRAM, "verify-tools", rows, "--model", folder], capture_output=True, text=True
                )
                self.assertEqual(result.returncode, 0, result.stderr)
                parsed = json.loads(result.stdout)
                self.assertEqual(parsed["tool_calls"][0]["name"], "add")
                expected = self.expected(tokenizer, template, "add", messages)
                self.assertEqual(parsed["reply"]["text"], tokenizer.decode(expected))
                self.assertEqual(parsed["reply"]["ids"], expected)


MCP_SERVER = """
from mcp.server import MCPServer

app = MCPServer("demo")


@app.tool()
def add(a: int, b: int) -> int:
    \"\"\"Adds two integers.\"\"\"
    return a + b


@app.tool()
def fail(text: str) -> str:
    \"\"\"Fails.\"\"\"
    raise ValueError(text)


app.run()
"""


class McpTest(unittest.TestCase):
    """The tools of a server that is written with the protocol's own package."""

    def test_a_servers_tools_are_served(self):
        with tempfile.TemporaryDirectory() as place:
            server = pathlib.Path(place) / "server.py"
            server.write_text(MCP_SERVER)
            requests = [
                {"id": 1, "op": "describe"},
                {"id": 2, "op": "call", "episode": 0, "name": "add", "arguments": {"a": 2, "b": 3}},
                {"id": 3, "op": "call", "episode": 0, "name": "fail", "arguments": {"text": "no"}},
            ]
            result = subprocess.run(
                [sys.executable, ROOT / "apps/python/cohort_environment.py", "--mcp", json.dumps([sys.executable, str(server)])],
                input="".join(json.dumps(one) + "\n" for one in requests),
                capture_output=True,
                text=True,
                timeout=120,
            )  # fmt: skip
        described, added, failed = map(json.loads, result.stdout.splitlines())
        self.assertEqual([tool["function"]["name"] for tool in described["tools"]], ["add", "fail"])
        self.assertEqual(described["tools"][0]["function"]["parameters"]["required"], ["a", "b"])
        self.assertEqual(added, {"id": 2, "content": "5"})
        self.assertIn("fail", failed["tool_error"])


def plain(a: int, b: float = 2.0):
    """
    Does something.

    It takes two lines.

    Args:
        a: The first
            argument: of two.
        b: The second.
    """


def hints(
    texts: list[str],
    table: dict[str, int],
    choice: typing.Literal["x", "y"],
    either: int | str | None,
    other: list[int] | str,
    pair: tuple[int, str],
    anything: typing.Any,
    flag: bool = False,
) -> str:
    """
    Has hints of every kind.

    Args:
        texts: Texts.
        table: A table.
        choice: One of two.
        either: A number, a text or nothing.
        other: A list or a text.
        pair: Two values.
        anything: Anything.
        flag: A drink (choices: ["tea", "coffee"])

    Returns:
        What it found.
    """


class Game:
    def move(self, to: str) -> str:
        """
        Moves.

        Args:
            to: Where to.
        """


class SchemaTest(unittest.TestCase):
    def test_schemas_are_those_of_transformers(self):
        for function in (plain, hints, Game().move):
            with self.subTest(function.__name__):
                self.assertEqual(schema_of(function), get_json_schema(function))

    def test_what_has_no_schema_is_refused(self):
        def undocumented(a: int):
            pass

        def without_hint(a):
            """
            Does.

            Args:
                a: It.
            """

        def without_line(a: int):
            """
            Does.
            """

        for function, text in (
            (undocumented, "docstring"),
            (without_hint, "type hint of its argument a"),
            (without_line, "no line about its argument a"),
        ):
            with self.assertRaisesRegex(ToolError, text):
                schema_of(function)


if __name__ == "__main__":
    unittest.main()
