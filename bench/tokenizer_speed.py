#!/usr/bin/env python3
"""Encoding speed beside Hugging Face's tokenizers, one thread each, in alternating passes over the same texts.

    ninja -C build bench_tokenizer_speed
    PYTHONPATH=tools .venv-test/bin/python bench/tokenizer_speed.py [--shape gemma ...] [--passes 7]

Prints, per shape and kind of text, medians of MB/s and their ratio (above 1: this program is faster), with and without
offsets; then how the time grows when hostile texts double. The first pass of each, which fills caches, is not counted.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import tokenizer_shapes
import tokenizer_texts

ROOT = pathlib.Path(__file__).parents[1]

HOSTILE = {
    "a": "a",
    "spaces": " ",
    "spaces and a letter": " " * 99 + "x",
    "marks": "\u0301\u0323",
    "newlines": "\n",
    "digits": "7",
    "no boundary": "ab,",
}


def cases():
    documents = list(tokenizer_texts.sources(1_500_000))
    scripts = [" ".join(tokenizer_texts.SCRIPTS) for _ in range(400)]
    return {
        "documents": documents,
        "lines": [line for text in documents[:12] for line in text.splitlines() if line],
        "scripts": scripts,
    }


class Program:
    """tokenizer_speed, answering one pass at a time."""

    def __init__(self, program, folder, texts, *flags):
        path = folder / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([program, str(folder), str(path), *flags], **pipes)

    def __call__(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def reference_pass(tokenizer, texts, with_offsets):
    encode = tokenizer.encode_batch if with_offsets else tokenizer.encode_batch_fast
    start = time.perf_counter()
    encode(texts)
    return time.perf_counter() - start


def compare(program, tokenizer, folder, texts, passes, with_offsets):
    ours = Program(program, folder, texts, *(["--offsets"] if with_offsets else []))
    times = [[], []]
    for i in range(passes + 1):
        pair = (ours(), reference_pass(tokenizer, texts, with_offsets))
        if i > 0:
            for kept, seconds in zip(times, pair):
                kept.append(seconds)
    ours.close()
    return [statistics.median(kept) for kept in times]


def growth(program, folder, unit):
    """Seconds at 0.5 and 1 MB of `unit`, the best of three passes each."""
    result = []
    for size in (500_000, 1_000_000):
        ours = Program(program, folder, [unit * (size // len(unit.encode()))])
        result.append(min(ours() for _ in range(3)))
        ours.close()
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=str(ROOT / "build/bench_tokenizer_speed"))
    parser.add_argument("--shape", action="append", choices=sorted(tokenizer_shapes.SHAPES))
    parser.add_argument("--passes", type=int, default=7)
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--no-growth", action="store_true")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    corpus = tokenizer_texts.corpus(1_500_000)
    for name in options.shape or tokenizer_shapes.SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            tokenizer = tokenizer_shapes.write(
                tokenizer_shapes.build(name, corpus, options.vocab_size), folder
            )
            for kind, texts in cases().items():
                megabytes = sum(len(text.encode()) for text in texts) / 1e6
                for with_offsets in (False, True):
                    ours, theirs = compare(
                        options.program, tokenizer, folder, texts, options.passes, with_offsets
                    )
                    print(
                        f"{name:9} {kind:10} {'offsets' if with_offsets else 'ids':8} {megabytes / ours:7.1f} MB/s here, "
                        f"{megabytes / theirs:6.1f} tokenizers, ratio {theirs / ours:5.2f}",
                        flush=True,
                    )
            for label, unit in {} if options.no_growth else HOSTILE.items():
                half, whole = growth(options.program, folder, unit)
                print(
                    f"{name:9} hostile: {label:20} 1 MB in {whole:6.3f} s, {whole / half:4.2f} times half a megabyte",
                    flush=True,
                )


if __name__ == "__main__":
    main()
