"""How the chat templates of model families fare in episodes: the table of docs/environments.md, measured.

COHORT=build/cohort .venv-test/bin/python tests/python/test_chat_templates_of_families.py

The templates are those that TRL ships. Each stands in a model directory without weights, with the demo's tokenizer and the
template's special tokens.
"""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
TEMPLATES = pathlib.Path(importlib.util.find_spec("trl").origin).parent / "chat_templates"
PAGE = ROOT / "docs/environments.md"
HEADER = "| family | TRL's template | calls | prompt has tools | after a result | after a message | with `_training` |"

#: The rows of the page's table, whose text says what the cells mean.
TABLE = """
| Qwen2.5 | `qwen2_5` | `hermes` | yes | no reasoning | no reasoning | no reasoning |
| Qwen3 | `qwen3` | `hermes` | yes | yes | refused | yes |
| Qwen3-2507 Instruct | `qwen3_instruct_2507` | `hermes` | yes | no reasoning | no reasoning | no reasoning |
| Qwen3.5, Qwen3.6 | `qwen3_5_think`, `qwen3_6` | `qwen_xml` | yes | yes | refused | yes |
| Qwen3.8 | `qwen3_8` | `qwen_xml` | yes | yes | yes | yes |
| Llama 3 | `llama3` | `json` | no | no reasoning | no reasoning | no reasoning |
| Llama 3.1, 3.2 | `llama3_1`, `llama3_2` | `llama3` | yes | no reasoning | no reasoning | |
| Gemma 1 to 3 | `gemma`, `gemma3` | `json` | no | refused | no reasoning | no reasoning |
| Gemma 4, older | `gemma4`, `gemma4_v4` | `gemma4` | yes | yes | no reasoning | |
| Gemma 4 | `gemma4_v5` | `gemma4` | yes | yes | changed | |
| DeepSeek V3, R1 Distill | `deepseekv3`, `deepseek_r1_distill` | `deepseek` | no | no reasoning | no reasoning | no reasoning |
| SmolVLM | `smolvlm` | `json` | no | refused | refused | refused |
| gpt-oss | `gptoss` | `harmony` | yes | changed | refused | refused |
| GLM 4.5 | `glm4moe` | `glm` | yes | yes | changed | changed |
| Nemotron 3 | `nemotron_3_nano`, `nemotron_3_5_lightning` | `qwen_xml` | yes | yes | changed | changed |
| LFM2, older | `lfm2` | `json` | yes | no reasoning | no reasoning | no reasoning |
| LFM2 | `lfm2_v2` | `lfm2` | yes | no reasoning | no reasoning | no reasoning |
| LFM2.5 | `lfm2_2_5_v2` | `lfm2` | yes | yes | changed | |
| Phi-3, Phi-3.5 | `phi3`, `phi3_5` | `json` | no | refused | refused | refused |
| Cohere, older | `cohere` | `json` | no | refused | no reasoning | no reasoning |
| Cohere 2 | `cohere2` | `json` | no | refused | no reasoning | no reasoning |
"""
#: The token that ends a turn.
END_OF_TURN = {
    "llama3": "<|eot_id|>", "gemma": "<end_of_turn>", "gemma3": "<end_of_turn>", "gemma4": "<turn|>",
    "deepseek": "<｜end▁of▁sentence｜>", "glm": "<|endoftext|>", "gptoss": "<|return|>", "phi3": "<|endoftext|>",
    "cohere": "<|END_OF_TURN_TOKEN|>", "smolvlm": "<end_of_utterance>", "": "<|im_end|>",
}  # fmt: skip
#: A call of `add` without arguments in each format.
CALLS = {
    "hermes": '<tool_call>{"name": "add", "arguments": {}}</tool_call>',
    "qwen_xml": "<tool_call><function=add></function></tool_call>",
    "glm": "<tool_call>add</tool_call>",
    "harmony": " to=functions.add<|channel|>commentary json<|message|>{}",
    "gemma4": "<|tool_call>call:add{}<tool_call|>",
    "function_gemma": "<start_function_call>call:add{}<end_function_call>",
    "mistral": "[TOOL_CALLS]add[ARGS]{}",
    "llama3": '{"name": "add", "parameters": {}}',
    "json": '<think>Hm.</think>{"name": "add", "arguments": {}}',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "lfm2": "<|tool_call_start|>[add()]<|tool_call_end|>",
}
PROBES = [{"completion": text} for text in CALLS.values()]
#: Training templates that render a single turn otherwise than the original, on purpose.
OTHER_ON_SINGLE_TURNS = {
    "deepseekv3": "the original takes the arguments of a call as a text, the other one as an object",
    "deepseek_r1_distill": "the original drops the reasoning of every turn",
    "glm4moe": "the other one ends a turn with the token of the next role",
}
TOOL = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}
TOOLS = [{"type": "function", "function": TOOL}]
USER = {"role": "user", "content": "How much?"}
EMPTY = {"role": "assistant", "content": ""}
MESSAGE = {"role": "user", "content": "Really?"}
RESULT = {"role": "tool", "name": "add", "content": "5.25"}
ANSWER = {"role": "assistant", "content": "It is 5.", "reasoning_content": "So it is."}


def calling(arguments):
    call = {"type": "function", "function": {"name": "add", "arguments": arguments}}
    return {"role": "assistant", "content": "", "reasoning_content": "I add.", "tool_calls": [call]}


def end_of_turn(template):
    return next(END_OF_TURN[key] for key in sorted(END_OF_TURN, key=len)[::-1] if template.startswith(key))


def write_model(folder, template):
    source = (TEMPLATES / f"{template}.jinja").read_text(encoding="utf-8")
    end = end_of_turn(template)
    tokenizer = json.loads((ROOT / "recipes/demo/tokenizer.json").read_text())
    known = {token["content"] for token in tokenizer["added_tokens"]}
    ids = [*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])]
    spelled = {end, *re.findall(r"<[|｜][^<>{}'\" ]+[|｜]>", source)} - known
    for number, content in enumerate(sorted(spelled)):
        token = {"id": max(ids) + 1 + number, "content": content, "special": True, "normalized": False}
        tokenizer["added_tokens"].append(token | dict.fromkeys(("single_word", "lstrip", "rstrip"), False))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end, "bos_token": end}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "chat_template.jinja").write_text(source, encoding="utf-8")


def program(folder, command, rows, *options):
    """The ended program, which got `rows` as a file."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    place = ["--input", path] if command == "render" else [path]
    return subprocess.run(
        [PROGRAM, command, *place, *options], capture_output=True, text=True, encoding="utf-8"
    )


def render(folder, conversations):
    """The text of each conversation, or None where the template refuses it."""
    options = ("--model", folder, "--now", "2027-03-04T05:06:07")
    done = program(folder, "render", conversations, *options)
    return [json.loads(line).get("text") for line in done.stdout.splitlines()]


def conversation(*messages, tools=TOOLS, prompts=False):
    row = {"messages": messages, "add_generation_prompt": prompts}
    return row | ({"tools": tools} if tools else {})


def is_kept(shorter, longer, reasoning):
    """Whether the text of a conversation, up to white space at its end, begins that of a longer one."""
    if shorter is None or longer is None:
        return ""
    if not longer.startswith(shorter.rstrip(" \t\r\n")):
        return "changed"
    return "yes" if reasoning in longer else "no reasoning"


def texts_of(folder):
    """The conversations of a study: with tools, an answer and the next message, a call and its result."""
    rows = [conversation(USER, prompts=True), conversation(USER, tools=None, prompts=True)]
    rows += [conversation(USER, ANSWER, tools=None), conversation(USER, ANSWER, USER, tools=None)]
    rows += [conversation(USER, EMPTY, MESSAGE, tools=None, prompts=True)]
    for arguments in ({}, "{}"):  # some templates want arguments as a text
        call = calling(arguments)
        rows += [conversation(USER, call), conversation(USER, call, RESULT, ANSWER)]
        rows += [conversation(USER, call, RESULT, prompts=True)]
    return render(folder, rows)


class FamiliesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as place:
            parsed = {
                name: program(pathlib.Path(place), "verify-tools", PROBES, "--format", name).stdout
                for name in CALLS
            }
        cls.formats = {text: name for name, text in parsed.items()}
        assert len(cls.formats) == len(CALLS), "the calls do not tell the formats apart"

    def measure(self, template, form):
        """The cells of a template's line, from the third column on."""
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            write_model(folder, template)
            texts = texts_of(folder)
            parsed = program(folder, "verify-tools", PROBES, "--model", folder).stdout
            row = {"completion": CALLS[form], "tools": TOOLS, "reply": [RESULT]}
            after_result = self.appended(folder, row, texts[7], texts[10])
            if after_result == "yes":
                after_result = is_kept(*texts[5:7], "I add.") or is_kept(*texts[8:10], "I add.")
            cells = [self.formats[parsed], "no" if texts[0] == texts[1] else "yes", after_result]
            cells.append(self.after_message(folder, texts))
            if not (TEMPLATES / f"{template}_training.jinja").exists():
                return [*cells, ""]
            write_model(folder, f"{template}_training")
            return [*cells, self.after_message(folder, texts_of(folder))]

    def after_message(self, folder, texts):
        appended = self.appended(folder, {"completion": "", "reply": [MESSAGE]}, texts[4])
        return is_kept(*texts[2:4], "So it is.") if appended == "yes" else appended

    def appended(self, folder, row, *wholes):
        """Whether a run appends a reply to a turn: the end of the whole conversation, with the reply's content."""
        done = program(folder, "verify-tools", [row], "--model", folder)
        if done.returncode:
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\Acohort: [^\n]+\n\Z")
            return "refused"
        line = json.loads(done.stdout)
        self.assertEqual([call["name"] for call in line["tool_calls"]], ["add"] if "tools" in row else [])
        text = line["reply"]["text"]
        self.assertTrue(any(one and one.endswith(text) for one in wholes), (text, wholes))
        self.assertIn(row["reply"][0]["content"], text)
        return "yes"

    def test_the_table_is_measured_and_on_the_page(self):
        expected = [line.strip() for line in TABLE.strip().splitlines()]
        page = PAGE.read_text(encoding="utf-8").split("\n")
        start = page.index(HEADER) + 2
        self.assertEqual(page[start : page.index("", start)], expected)
        for line in expected:
            family, template, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            cells[0] = cells[0].strip("`")
            for one in template.replace("`", "").split(", "):
                with self.subTest(family, template=one):
                    self.assertEqual(self.measure(one, cells[0]), cells)

    def test_training_templates_render_single_turns_as_the_originals_do(self):
        conversations = [
            conversation(USER, prompts=True),
            conversation(USER, tools=None, prompts=True),
            conversation({"role": "system", "content": "Be brief."}, USER, tools=None, prompts=True),
            conversation(USER, ANSWER, tools=None),
            conversation(USER, {"role": "assistant", "content": "It is 5."}, tools=None),
            conversation(
                USER, {"role": "assistant", "content": "<think>\nSo.\n</think>\n\nIt is 5."}, tools=None
            ),
            conversation(USER, calling({"a": 1})),
        ]
        others = set()
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            for path in sorted(TEMPLATES.glob("*_training.jinja")):
                template = path.stem.removesuffix("_training")
                texts = []
                for name in (template, path.stem):
                    write_model(folder, name)
                    texts.append(render(folder, conversations))
                self.assertTrue(any(texts[0]), template)
                if texts[0] != texts[1]:
                    others.add(template)
        self.assertEqual(others, OTHER_ON_SINGLE_TURNS.keys())


if __name__ == "__main__":
    unittest.main()
