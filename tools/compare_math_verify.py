#!/usr/bin/env python3
"""Compares the mathematics verifier with math-verify (PyPI) on the golden pairs and lists every disagreement.

    python3 -m venv .venv-math && .venv-math/bin/pip install math-verify==0.9.0
    .venv-math/bin/python tools/compare_math_verify.py build/math_lines [PAIRS.jsonl]

A line per disagreement: category, who is right by the pair's truth, gold, answer, both verdicts. The last lines count
agreement and each side's false positives and negatives. Completions are left out: math-verify looks for answers in
other places.
"""

import collections
import json
import pathlib
import subprocess
import sys

from math_verify import parse, verify

PAIRS = pathlib.Path(__file__).parents[1] / "tests/rewards/golden/math_pairs.jsonl"


def math_verify_says(gold, answer):
    try:
        return verify(parse(f"${gold.replace('$', '')}$"), parse(f"\\boxed{{{answer}}}"))
    except Exception as error:  # its own failures count as "not equal"
        print(f"math-verify failed: {error!r}", file=sys.stderr)
        return False


def main():
    pairs = [json.loads(line) for line in open(sys.argv[2] if len(sys.argv) > 2 else PAIRS)]
    pairs = [pair for pair in pairs if "answer" in pair]
    lines = "".join(json.dumps({"gold": p["gold"], "answer": p["answer"]}) + "\n" for p in pairs)
    output = subprocess.run([sys.argv[1]], input=lines, text=True, capture_output=True, check=True).stdout
    counts = collections.Counter()
    for pair, line in zip(pairs, output.splitlines()):
        ours = json.loads(line)["verdict"] == "equal"
        theirs = math_verify_says(pair["gold"], pair["answer"])
        for name, verdict in (("ours", ours), ("math-verify", theirs)):
            counts[f"{name}: false positives"] += verdict and not pair["equal"]
            counts[f"{name}: false negatives"] += pair["equal"] and not verdict
        counts["agree"] += ours == theirs
        if ours != theirs:
            right = "cohort" if ours == pair["equal"] else "math-verify"
            print(
                f"{pair['category']}\t{right} is right\t{pair['gold']!r}\t{pair['answer']!r}\tcohort {ours}, math-verify {theirs}"
            )
    for name, count in sorted(counts.items()):
        print(f"{name}: {count} of {len(pairs)}")


if __name__ == "__main__":  # math-verify's time limits start processes
    main()
