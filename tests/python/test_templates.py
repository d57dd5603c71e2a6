"""`cohort render` against transformers.apply_chat_template, on every chat template that TRL ships.

COHORT=build/cohort python tests/python/test_templates.py

The templates are read where pip has put them. Per template and conversation: the same text, the same ids and the same
assistant mask, or a refusal of both.
"""

import copy
import datetime
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock
import warnings

import conversations
import jinja_reference
import transformers
from transformers.utils import chat_template_utils

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "text" / "golden"
NOW = datetime.datetime(2027, 3, 4, 5, 6, 7)
SPECIAL_TOKENS = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
ROWS = list(conversations.rows())
MARKS = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


def trl_templates():
    (package,) = importlib.util.find_spec("trl").submodule_search_locations
    return sorted(pathlib.Path(package, "chat_templates").glob("*.jinja"))


def write_model(folder, template):
    """A model directory with a small tokenizer and the template."""
    shutil.copy(GOLDEN / "qwen2" / "tokenizer.json", folder)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **SPECIAL_TOKENS}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "chat_template.jinja").write_bytes(template)


def run_render(folder, rows, *options):
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = subprocess.run(
        [PROGRAM, "render", "--model", folder, "--input", path, "--now", NOW.isoformat(), *options],
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]], result


def reference(tokenizer, row):
    """The text, ids and mask of transformers, or its refusal."""
    row = copy.deepcopy(row)
    try:
        messages = [{k: v for k, v in message.items() if v is not None} for message in row["messages"]]
        given = {
            "tools": row.get("tools"),
            "add_generation_prompt": row.get("add_generation_prompt", False),
            "continue_final_message": row.get("continue_final_message", False),
            **row.get("chat_template_kwargs", {}),
        }
        masked = MARKS.search(tokenizer.chat_template) and not given["continue_final_message"]
        messages = jinja_reference.alias_reasoning(messages)
        text = tokenizer.apply_chat_template(messages, tokenize=False, **given)
        result = {"text": text, "ids": tokenizer(text, add_special_tokens=False)["input_ids"]}
        if masked:
            encoded = tokenizer.apply_chat_template(
                messages, return_dict=True, return_assistant_tokens_mask=True, **given
            )
            result["assistant_masks"] = encoded["assistant_masks"]
        return result
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def same(mine, theirs):
    return ("error" in mine and "error" in theirs) or mine == theirs


class TrlTemplatesTest(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        transformers.logging.set_verbosity_error()
        patch = unittest.mock.patch.object(chat_template_utils, "datetime", Clock)
        patch.start()
        self.addCleanup(patch.stop)
        folder = tempfile.TemporaryDirectory(prefix="cohort-templates-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compare(self, path):
        """Differences, and how many conversations have text and a mask."""
        write_model(self.folder, path.read_bytes())
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder)
        jinja_reference.compile_template(tokenizer.chat_template)
        rendered, result = run_render(self.folder, ROWS)
        self.assertEqual(len(rendered), len(ROWS), result.stderr)
        expected = [reference(tokenizer, row) for row in ROWS]
        self.assertEqual(result.returncode, 2 if any("error" in row for row in rendered) else 0)
        differences = [
            {"row": row, "ours": mine, "transformers": theirs}
            for row, mine, theirs in zip(ROWS, rendered, expected)
            if not same(mine, theirs)
        ]
        return differences, sum("text" in r for r in rendered), sum("assistant_masks" in r for r in rendered)

    def test_all_templates(self):
        templates = trl_templates()
        self.assertEqual(len(templates), 72)
        self.assertGreaterEqual(len(ROWS), 40)
        num_texts = num_masks = 0
        for path in templates:
            with self.subTest(template=path.name):
                differences, texts, masks = self.compare(path)
                for difference in differences[:3]:
                    print(path.name, json.dumps(difference, ensure_ascii=False)[:3000])
                self.assertEqual(len(differences), 0)
                self.assertGreaterEqual(texts, 15)
                self.assertEqual(masks > 0, bool(MARKS.search(path.read_text(encoding="utf-8"))))
                num_texts += texts
                num_masks += masks
        print(
            f"{len(templates)} templates x {len(ROWS)} conversations: {num_texts} texts, {num_masks} masks, the rest refused by both"
        )


if __name__ == "__main__":
    unittest.main()
