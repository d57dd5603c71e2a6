#!/usr/bin/env python3
"""Compares the program's tokenizers with Hugging Face's: ids, offsets and decoded text of many strings, per shape.

    .venv-test/bin/python tools/compare_tokenizers.py --count 100000 [--shape gemma ...] [--program build/cohort]

Tokenizers and texts are made here (tokenizer_shapes.py, tokenizer_texts.py). Prints a line per shape and exits with 1 if
anything differs.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import tokenizer_shapes
import tokenizer_texts

BATCH = 2000


def run(program, command, folder, rows, *flags):
    """One program for all rows, as a user would call it; its answers, in order."""
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    arguments = [program, command, "--model", str(folder), *flags]
    result = subprocess.run(arguments, input=lines, capture_output=True, text=True, encoding="utf-8")
    if result.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit code {result.returncode}: {result.stderr.strip()}")
    answers = [json.loads(line) for line in result.stdout.split("\n") if line]
    assert len(answers) == len(rows), (len(answers), len(rows))
    return answers


def encode_differences(program, tokenizer, folder, texts):
    differences = []
    ids = []
    for begin in range(0, len(texts), 50 * BATCH):
        part = texts[begin : begin + 50 * BATCH]
        answers = run(program, "tokenize", folder, [{"text": text} for text in part], "--offsets")
        for first in range(0, len(part), BATCH):
            batch = part[first : first + BATCH]
            for text, encoding, answer in zip(batch, tokenizer.encode_batch(batch), answers[first:]):
                expected = {"ids": encoding.ids, "offsets": [list(span) for span in encoding.offsets]}
                ids.append(encoding.ids)
                if answer != expected:
                    differences.append((text, expected, answer))
    return differences, ids


def decode_differences(program, tokenizer, folder, all_ids, rng):
    """Decodes what texts became, and random ids, which make ill-formed text."""
    size = tokenizer.get_vocab_size()
    rows = [ids for ids in all_ids if rng.random() < 0.5]
    rows += [[rng.randrange(size) for _ in range(rng.randint(0, 8))] for _ in range(len(all_ids) // 2)]
    rows += [
        [rng.randrange(min(size, 300)) for _ in range(rng.randint(0, 8))] for _ in range(len(all_ids) // 4)
    ]
    differences = []
    for flags, skip in (((), False), (("--skip-special-tokens",), True)):
        answers = run(program, "detokenize", folder, [{"ids": ids} for ids in rows], *flags)
        expected = [tokenizer.decode(ids, skip_special_tokens=skip) for ids in rows]
        differences += [(ids, e, a["text"]) for ids, e, a in zip(rows, expected, answers) if a["text"] != e]
    return differences, 2 * len(rows)


def plain_differences(program, tokenizer, folder, texts):
    """Without offsets and without special tokens, which takes another way through the program."""
    answers = run(program, "tokenize", folder, [{"text": text} for text in texts], "--no-special-tokens")
    expected = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    return [(t, e, a["ids"]) for t, e, a in zip(texts, expected, answers) if a["ids"] != e]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=os.environ.get("COHORT", "build/cohort"))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--vocab-size", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", action="append", choices=sorted(tokenizer_shapes.SHAPES))
    parser.add_argument("--show", type=int, default=3, help="differences to print per shape")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = list(tokenizer_texts.texts(options.count, options.seed))
    corpus = tokenizer_texts.corpus(1_500_000 if options.count > 10_000 else 120_000)
    failed = False
    for name in options.shape or tokenizer_shapes.SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            tokenizer = tokenizer_shapes.write(
                tokenizer_shapes.build(name, corpus, options.vocab_size), folder
            )
            encoded, ids = encode_differences(options.program, tokenizer, folder, texts)
            plain = plain_differences(
                options.program, tokenizer, folder, texts[:: 10 if options.count > 10_000 else 3]
            )
            decoded, num_decoded = decode_differences(
                options.program, tokenizer, folder, ids, random.Random(options.seed)
            )
        tokens = sum(len(row) for row in ids)
        print(
            f"{name}: {len(texts)} texts, {tokens} tokens, {len(encoded)} differ in ids or offsets, {len(plain)} without "
            f"special tokens; {num_decoded} decodings, {len(decoded)} differ",
            flush=True,
        )
        for source, expected, answer in [*encoded, *plain, *decoded][: options.show]:
            print(f"  {source!r}\n    expected {expected}\n    got      {answer}")
        failed = failed or encoded or plain or decoded
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
