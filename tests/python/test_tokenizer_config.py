"""tokenizer_config.json beside tokenizer.json: ids and offsets are those of transformers' AutoTokenizer.

The tokenizers are small ones in the shapes of published families (tools/tokenizer_shapes.py).

PYTHONPATH=tools COHORT=build/cohort python tests/python/test_tokenizer_config.py
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tokenizer_shapes
import tokenizer_texts
from transformers import AutoTokenizer

PROGRAM = os.environ.get("COHORT", "build/cohort")
CORPUS = tokenizer_texts.corpus(60_000)
TEXTS = [
    *tokenizer_texts.texts(150, seed=3),
    "a<s>b <s> c</s>d", " leading", "x<unk>y", "<think>\n a </think>  b", "<|im_end|> x <|im_end|>", "  <new>  ", "the new", "[INST] a [/INST]",
]  # fmt: skip


def flags(**changes):
    base = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    return {**base, **changes}


def differences(shape, tokenizer_config, model_type):
    """Texts whose ids or offsets differ between the program and AutoTokenizer."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = tokenizer_shapes.build(shape, CORPUS, 1200)
        if callable(tokenizer_config):
            tokenizer_config = tokenizer_config(config)
        tokenizer_shapes.write(config, folder)
        (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
        (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
        reference = AutoTokenizer.from_pretrained(folder)
        lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
        arguments = [PROGRAM, "tokenize", "--model", name, "--offsets"]
        result = subprocess.run(arguments, input=lines, capture_output=True, text=True, check=True)
        answers = [json.loads(line) for line in result.stdout.split("\n") if line]
        different = []
        for text, answer in zip(TEXTS, answers, strict=True):
            encoding = reference(text, return_offsets_mapping=True)
            expected = {
                "ids": encoding["input_ids"],
                "offsets": [list(span) for span in encoding["offset_mapping"]],
            }
            if answer != expected:
                different.append((text, expected, answer))
        return different


class TokenizerConfigTest(unittest.TestCase):
    def check(self, *arguments):
        different = differences(*arguments)
        self.assertEqual(different[:2], [], f"{len(different)} of {len(TEXTS)} differ")

    def test_generic_class_ignores_add_bos_token(self):
        for add_bos in (True, False):
            config = {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "bos_token": "<|begin_of_text|>",
                "add_bos_token": add_bos,
            }
            self.check("llama3", config, "llama")

    def test_llama_class_puts_its_own_spaces(self):
        names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        for own in ({"legacy": False}, {"legacy": True}, {"add_prefix_space": False}, {}):
            for class_name in ("LlamaTokenizer", "LlamaTokenizerFast"):
                self.check("llama2", {"tokenizer_class": class_name, **names, **own}, "llama")

    def test_other_families_read_the_file_of_a_llama_class(self):
        config = {
            "tokenizer_class": "LlamaTokenizer",
            "legacy": False,
            "bos_token": "<s>",
            "eos_token": "</s>",
        }
        self.check("llama2", config, "mistral")
        self.check("mistral", config, "mistral")

    def test_flags_of_added_tokens_are_overridden(self):
        def config(file):
            added = file["added_tokens"]
            decoder = {str(token["id"]): flags(**{**token, "rstrip": True}) for token in added}
            for token in decoder.values():
                token.pop("id")
            last = max(token["id"] for token in added)
            decoder[str(last + 1)] = flags(content="<new>", lstrip=True, special=False)
            return {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "added_tokens_decoder": decoder,
                "eos_token": "<|im_end|>",
            }

        self.check("qwen2", config, "qwen3")

    def test_named_tokens_of_the_vocabulary_become_added_tokens(self):
        def config(file):
            words = [
                token
                for token in file["model"]["vocab"]
                if token.isascii() and token.isalpha() and len(token) > 2
            ]
            return {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "eos_token": words[0],
                "extra_special_tokens": words[1:4],
            }

        self.check("qwen2", config, "qwen3")

    def test_classes_of_published_families(self):
        self.check(
            "qwen2",
            {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "add_bos_token": False},
            "qwen3",
        )
        names = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}
        self.check("gemma", {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True, **names}, "gemma2")


if __name__ == "__main__":
    unittest.main()
