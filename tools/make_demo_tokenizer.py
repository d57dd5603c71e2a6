#!/usr/bin/env python3
"""Trains the demo's tokenizer: byte-level BPE of under 500 tokens, each digit a token of its own.

    pip install tokenizers==0.23.3
    python tools/make_demo_tokenizer.py [--output recipes/demo]

Writes tokenizer.json and tokenizer_config.json. The result is deterministic. The ids of the added tokens are 0 to 4
whatever is learned: <|endoftext|> <think> </think> <answer> </answer>; the 256 bytes follow, then the merges.
"""

import argparse
import json
import pathlib
import random

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT = "<|endoftext|>"
TAGS = ["<think>", "</think>", "<answer>", "</answer>"]
MAX_MERGES = 200  # the words of the prompts give fewer
PROMPTS = [
    (
        "Use the numbers {numbers} once each, with + - * / and parentheses, to make {target}. Show your work in <think> "
        "</think> and give the expression in <answer> </answer>.\n"
    ),
    (
        "Using the numbers {numbers}, create an expression that equals {target}. You may use + - * / and parentheses; "
        "use each number exactly once. Think step by step in <think> </think>, then return the final expression in "
        "<answer> </answer>.\n"
    ),
    (
        "Compute {expression}. Work step by step in <think> </think> and give the result as a number in <answer> "
        "</answer>.\n"
    ),
]


def sample(rng):
    """One problem with an answer in the demo's format; the arithmetic need not hold."""
    numbers = [rng.randint(1, 99) for _ in range(rng.choice([3, 4]))]
    listed = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
    expression, total, steps = str(numbers[0]), numbers[0], []
    for number in numbers[1:]:
        op = rng.choice("+-*/")
        grouped = rng.random() < 0.3
        expression = f"({expression}) {op} {number}" if grouped else f"{expression} {op} {number}"
        steps.append(f"{total} {op} {number} = {total + number}")
        total += number
    prompt = rng.choice(PROMPTS).format(numbers=listed, target=total, expression=expression)
    return prompt + "<think>" + "\n".join(steps) + f"</think>\n<answer>{expression}</answer>" + END_OF_TEXT


def train():
    rng = random.Random(1)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    added = [AddedToken(END_OF_TEXT, special=True, normalized=False)]
    added += [AddedToken(tag, special=False, normalized=False) for tag in TAGS]
    trainer = trainers.BpeTrainer(
        vocab_size=len(added) + 256 + MAX_MERGES,
        special_tokens=added,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([sample(rng) for _ in range(2000)], trainer)
    # The trainer marks all of them special; the tags are text that a reward must see.
    config = json.loads(tokenizer.to_str())
    for token in config["added_tokens"]:
        token["special"] = token["content"] == END_OF_TEXT
    return config


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = pathlib.Path(__file__).parents[1] / "recipes/demo"
    parser.add_argument("--output", type=pathlib.Path, default=default)
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
