#!/usr/bin/env python3
"""Writes tests/libs/answers/golden/math_pairs.jsonl: answers of mathematics with the verdict that a verifier must reach.

    python tools/make_golden/math_pairs.py
    python tools/make_golden/math_pairs.py --seed 7 --count 1000 --output more.jsonl    # pairs that are not frozen

A line is {"category", "gold", "answer" or "completion", "equal", "source"}. Most are "made": a maker draws a value or a
structure and spells it twice (equal), or spells it and one that differs by construction (unequal); no verifier and no
algebra system is asked. Those "by hand" (math_pairs_by_hand.txt) were decided by mathematics. Conventions, where usage is
divided:

- Values are compared exactly: 0.333 is not 1/3, 3.14 is not pi, 1.41421 is not the root of 2.
- A percent sign is a hundredth, and may be missing on one side: 50% is 1/2 and also 50.
- A unit, a currency or a degree sign may be missing on one side; where both sides name one, they are converted, and
  units that cannot be converted differ. "million" and "dozen" are numbers.
- A comma with exactly three digits behind it, outside brackets, separates thousands; with a space behind it, a list.
- A list without brackets and a set in braces have no order; tuples, points, vectors and matrices do. (a, b) is also the
  open interval, [a, b] the closed one, so the kind of the brackets counts.
- `x = 5` is 5 and `y = 2x + 3` is 2x + 3, but another name on the left differs. Equations without a lone name are equal
  when one is a multiple of the other; an inequality in one unknown is its set of solutions.
- Variables are real, and two expressions are equal that agree wherever both are real and defined. i is the imaginary
  unit, e Euler's number, an odd root of a negative number is real, ln is natural.
- 3 1/2 with a proper fraction is the mixed number 7/2.
- Measures of one kind in falling units are a sum (3 hours 20 minutes); a number without a unit may mean any of them.
- 3:30 against another time is a time, else a ratio; ratios of three parts are equal up to scale; 6/12/2020 is a date.
- f, g, h before a bracket are unknown functions, unless their own text (of h, either text) uses the letter as a variable; m
  in "10 m" is a unit, unless either text uses the letter so.
- (m, n) = (3, 4) is m = 3, n = 4. "and" differs from "or" between conditions on different names, where a comma is "and".
- Three capitals and more and Roman numerals are names. Two capitals are a product.
- Every plus-minus stands for itself, unless a minus-plus stands beside it.
- An equation gives the value of what is named on its left without numbers: AB = 5, f(2) = 4, x + y = 7, not 2x = 7.
- Of "exact, approximately rounded" the first side counts.
- Values of x, y, z and a, b, c come in this order, of other names as written; x_1 and x_2 have no order.
- 2e-1 is 2e - 1; a decimal point, two digits or a digit from 5 on make an exponent of ten.
- In floors and ceilings n, m, k and N are integers.
- Texts are compared without case, quotes, outer spaces and the last full stop; a letter of choice may stand in
  parentheses.
- Of a completion that holds </think>, the text behind it decides; of several boxes or answer tags the last.
"""

import argparse
import json
import pathlib
import random
import sys

import math_pair_completions
import math_pair_expressions
import math_pair_functions
import math_pair_measures
import math_pair_numbers
import math_pair_sets
import math_pair_structures

MODULES = [
    math_pair_numbers,
    math_pair_functions,
    math_pair_measures,
    math_pair_expressions,
    math_pair_sets,
    math_pair_structures,
    math_pair_completions,
]
FOLDER = pathlib.Path(__file__).parent
OUTPUT = FOLDER.parents[1] / "tests/libs/answers/golden/math_pairs.jsonl"


def made(category, maker, seed, count):
    """`count` distinct pairs, half of them equal, that no other category's draws change."""
    rng = random.Random(f"{seed} {category}")
    seen = set()
    for equal in [True, False] * (count // 2):
        for _ in range(1000):
            gold, answer = maker(rng, equal)
            if category != "completions" and rng.random() < 0.5:
                gold, answer = answer, gold
            if (gold, answer) not in seen and gold != answer:
                break
        else:
            sys.exit(f"{category}: too few distinct pairs")
        seen.add((gold, answer))
        yield {"category": category, "gold": gold, "answer": answer, "equal": equal, "source": "made"}


def by_hand():
    for line in (FOLDER / "math_pairs_by_hand.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        category, sign, gold, answer = line.split("\t")
        yield {
            "category": category,
            "gold": gold.replace("⏎", "\n"),
            "answer": answer.replace("⏎", "\n"),
            "equal": {"=": True, "≠": False}[sign],
            "source": "by hand",
        }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=20260)
    parser.add_argument("--count", type=int, default=90, help="pairs of each category")
    parser.add_argument("--output", type=pathlib.Path, default=OUTPUT)
    options = parser.parse_args()
    makers = {category: maker for module in MODULES for category, maker in module.MAKERS.items()}
    rows = [
        row
        for category, maker in makers.items()
        for row in made(category, maker, options.seed, options.count)
    ]
    rows += by_hand()
    for row in rows:
        if row["category"] == "completions":
            row["completion"] = row.pop("answer")
    options.output.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    num_equal = sum(row["equal"] for row in rows)
    num_made = sum(row["source"] == "made" for row in rows)
    print(f"{len(rows)} pairs, {num_equal} equal, {num_made} made, {options.output.stat().st_size} bytes")


main()
