#!/usr/bin/env python3
"""Compares the mathematics verifier with math-verify (PyPI) on the golden pairs and explains every disagreement.

    python3 -m venv .venv-math && .venv-math/bin/pip install math-verify==0.9.0
    .venv-math/bin/python tools/compare_math_verify.py build/math_lines [PAIRS.jsonl]

A line per disagreement: who is right by the pair's truth, why, category, gold and answer. Then the counts by reason,
the agreement and each side's false positives and negatives. A disagreement without a reason ends with exit code 1.
Completions are left out: math-verify looks for answers in other places.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

from math_verify import parse, verify

PAIRS = pathlib.Path(__file__).parents[1] / "tests/libs/answers/golden/math_pairs.jsonl"

# What math-verify 0.9.0 does, by its verdict, the category and a sign in the texts; the first that fits.
REASONS = [
    (
        True,
        "units|currencies|degrees",
        r".",
        "drops units, currencies and degree signs, and does not compare them",
    ),
    (True, "tuples|sets", r"\{", "takes a tuple and a set of the same elements for equal"),
    (True, "percents", r"%", "takes 50% for 50 too"),
    (True, ".*", r"3e$", "reads 1e3 as 1 * e * 3"),
    (True, ".*", r"\d\.\d", "compares after rounding to six places"),
    (False, "complex_numbers", r".", "keeps i a variable beside other factors and terms"),
    (
        False,
        "intervals|unions",
        r".",
        "does not compare inequalities joined by or, or a set with a condition, with intervals",
    ),
    (False, ".*", r"\\lbrace|\\bigl|\\varnothing", "does not know \\lbrace, \\bigl, \\varnothing"),
    (False, ".*", r"[√π×°²³½∅]", "does not read the Unicode sign"),
    (
        False,
        ".*",
        r"\*|\bpi\b|\bln\(|\bsqrt\(|\bsin\(|\bcos\(",
        "reads plain-text functions and powers as letters",
    ),
    (False, ".*", r"\d \d+/\d|\\ \\frac", "does not read a mixed number with a space"),
    (False, "thousands", r".", "does not read these thousands separators"),
    (False, ".*", r"\d[eE][+-]?\d", "reads 1e3 as 1 * e * 3"),
    (False, "texts|choices", r".", "keeps case, emphasis, brackets or the full stop of words and letters"),
    (False, "units|currencies|degrees|percents", r".", "does not convert or strip this unit"),
    (False, "trigonometry", r"circ", "does not take a degree sign within a function for pi / 180"),
    (False, ".*", r"[ \dk(-][tm]\b|\dm", "takes a letter such as t or m for a unit and drops it"),
    (False, "matrices", r"\n", "does not read a line break behind the end of a row"),
    (False, ".*", r"\+-|\\pm", "does not read a sign behind a sign, or the two values of plus-minus"),
    (False, "scientific", r".", "compares numbers of very different sizes as floats"),
    (False, ".*", r"overline", "does not read repeating decimals"),
    (False, "radicals", r".", "takes complex roots, and does not restrict variables to the reals"),
    (False, "integers", r"\.", "does not read a decimal point without decimals"),
    (False, "equations", r"\d=", "does not take an equation of numbers for its value"),
    (False, "logarithms", r"cdot", "reads \\log_2 3\\cdot x as the logarithm of the product"),
    (False, ".*", r"frac\\pi", "does not read \\frac\\pi4"),
    (True, "bases", r"_", "drops the base of a numeral"),
    (True, "ratios|times", r".", "takes a ratio, a time or a date for a quotient"),
    (True, "words_and_letters", r"^[A-Z]+\t[A-Z]+$", "takes a word of capitals for a product of letters"),
    (True, "order_of_letters", r"'|\\vec", "drops primes, and multiplies vectors as numbers"),
    (True, "lists", r"=", "takes systems for sets of equations, and unknowns without their names"),
    (True, "set_builders", r"dots", "drops an ellipsis"),
    (True, "tuples", r"\[", "takes square brackets for round ones"),
    (True, "spellings", r"%\)", "multiplies by a percentage in brackets"),
    (True, "spellings", r"1, 1", "takes a list for the set of its elements"),
    (False, "bases", r"_", "does not read this spelling of a base"),
    (
        False,
        "ratios|times|spellings",
        r"\d(:|\{:\}| ?\\colon )",
        "takes a ratio, a time or a date for a quotient",
    ),
    (
        False,
        "repeating_decimals|spellings",
        r"\.\.\.|dots|\\dot|\\bar|\.\(",
        "does not read repeating decimals",
    ),
    (False, ".*", r"[¼¾⅓⁄⁴⁰⁻₁∞–‑５]", "does not read the Unicode sign"),
    (False, "fractions", r"nicefrac|sfrac", "does not know \\nicefrac and \\sfrac"),
    (False, "factorials", r"C_8\^3", "does not read C_8^3 as a binomial"),
    (False, "floors", r".", "does not simplify for integers n"),
    (False, "equations", r"=", "does not take the right side of this equation for its value"),
    (False, "lists", r"=", "compares neither chains of equations nor systems with tuples"),
    (False, "names", r".", "keeps the names of unknowns"),
    (False, "logarithms|trigonometry", r"log_e|operatorname|ln 2$", "does not know this name of a function"),
    (False, "matrices", r"\\cr|\[4pt\]", "does not read this end of a row"),
    (False, "order_of_letters", r"cup", "does not read a union of letters"),
    (False, "polynomials", r"varphi", "keeps the two spellings of phi apart"),
    (False, "set_builders", r".", "does not read set builders and ellipses"),
    (False, "tuples", r".", "does not read this bracket or name of a tuple"),
    (False, "spellings", r"\d( |~|\\ |\\,)\d{3}", "does not read these thousands separators"),
    (
        False,
        "spellings|words_and_letters",
        r"million|one|five|seven|th\}",
        "does not read numbers in words, or ordinals",
    ),
    (False, "spellings|words_and_letters", r"DNE|infinity|\ttrue", "does not know this word"),
    (False, "spellings|words_and_letters", r"text|mathrm", "keeps a text whole"),
    (
        False,
        "spellings",
        r"geq",
        "does not compare inequalities joined by or, or a set with a condition, with intervals",
    ),
    (
        False,
        "spellings",
        r"color|Large|hspace|checkmark|underline|left|blacksquare|\\\\$|~",
        "keeps layout commands",
    ),
    (False, "spellings", r"[.,;]$", "keeps the punctuation behind an answer"),
    (False, "spellings", r"^\(2\)\(3\)", "reads (2)(3) as a mixed number"),
    (False, "spellings", r"\^\{\.5\}", "does not compare a decimal exponent with a fraction"),
    (False, "spellings", r"%\)", "multiplies by a percentage in brackets"),
]


def math_verify_says(gold, answer):
    try:
        return verify(parse(f"${gold.replace('$', '')}$"), parse(f"\\boxed{{{answer}}}"))
    except Exception as error:  # its own failures count as "not equal"
        print(f"math-verify failed: {error!r}", file=sys.stderr)
        return False


def reason_of(pair, verdict):
    text = pair["gold"] + "\t" + pair["answer"]
    fits = (
        r
        for v, category, sign, r in REASONS
        if v == verdict and re.fullmatch(category, pair["category"]) and re.search(sign, text)
    )
    return next(fits, "")


def main():
    pairs = [json.loads(line) for line in open(sys.argv[2] if len(sys.argv) > 2 else PAIRS)]
    pairs = [pair for pair in pairs if "answer" in pair]
    lines = "".join(json.dumps({"gold": p["gold"], "answer": p["answer"]}) + "\n" for p in pairs)
    output = subprocess.run([sys.argv[1]], input=lines, text=True, capture_output=True, check=True).stdout
    counts, reasons = collections.Counter(), collections.Counter()
    for pair, line in zip(pairs, output.splitlines()):
        ours = json.loads(line)["verdict"] == "equal"
        theirs = math_verify_says(pair["gold"], pair["answer"])
        for name, verdict in (("cohort", ours), ("math-verify", theirs)):
            counts[f"{name}: false positives"] += verdict and not pair["equal"]
            counts[f"{name}: false negatives"] += pair["equal"] and not verdict
        counts["agree"] += ours == theirs
        if ours != theirs:
            right = "cohort" if ours == pair["equal"] else "math-verify"
            reason = reason_of(pair, theirs)
            reasons[f"{right} is right; math-verify {reason or '(no reason known)'}"] += 1
            print(f"{right}\t{reason}\t{pair['category']}\t{pair['gold']!r}\t{pair['answer']!r}")
    for name, count in [*reasons.most_common(), *sorted(counts.items())]:
        print(f"{name}: {count} of {len(pairs)}")
    sys.exit(any("no reason known" in reason for reason in reasons))


if __name__ == "__main__":  # math-verify's time limits start processes
    main()
