#!/usr/bin/env python3
"""Trains the demo's tokenizer: byte-level BPE of under 400 tokens, where a digit is a token, with the blank before it.

    make build && pip install tokenizers==0.23.3
    python tools/make_demo_tokenizer.py [--output recipes/demo]

It learns from problems and solutions of `cohort data`. Writes tokenizer.json and tokenizer_config.json. The result is
deterministic. The ids of the added tokens are 0 to 4 whatever is learned: <|endoftext|> <think> </think> <answer>
</answer>; the 256 bytes follow, then the merges.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
END_OF_TEXT = "<|endoftext|>"
TAGS = ["<think>", "</think>", "<answer>", "</answer>"]
TASKS = ["countdown", "arithmetic", "programs"]
MAX_VOCAB_SIZE = 400


def texts(task):
    """2,000 problems of a task, each with its solution."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".jsonl") as file:
        arguments = ["data", task, "--count", "2000", "--seed", "1", "--output", file.name]
        subprocess.run([ROOT / "build/cohort", *arguments], check=True, capture_output=True)
        rows = [json.loads(line) for line in pathlib.Path(file.name).read_text().splitlines()]
    return [row["prompt"] + row["solution"] + END_OF_TEXT for row in rows]


def train():
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r" ?\d"), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    added = [AddedToken(END_OF_TEXT, special=True, normalized=False)]
    added += [AddedToken(tag, special=False, normalized=False) for tag in TAGS]
    trainer = trainers.BpeTrainer(
        vocab_size=MAX_VOCAB_SIZE,
        special_tokens=added,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text for task in TASKS for text in texts(task)], trainer)
    # The trainer marks all of them special; the tags are text that a reward must see.
    config = json.loads(tokenizer.to_str())
    for token in config["added_tokens"]:
        token["special"] = token["content"] == END_OF_TEXT
    return config


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "recipes/demo")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END_OF_TEXT,
        "pad_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 2048,
    }
    for name, content in [("tokenizer.json", train()), ("tokenizer_config.json", tokenizer_config)]:
        text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
        (output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
