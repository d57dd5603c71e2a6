"""The reward of the sums: reasoning-gym judges the last number of a completion."""

import re

from cohort.datasets import score_answer

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def last_number(completion):
    """The text of the last number of the assistant's message; None where it has none."""
    numbers = NUMBER.findall(completion[-1]["content"])
    return numbers[-1] if numbers else None


def sums(completions, entry, **columns):
    """1 where the last number is the answer, else 0; `entry` is a column of `cohort data reasoning-gym`."""
    return [float(score_answer(last_number(c), e) == 1.0) for c, e in zip(completions, entry, strict=True)]
