"""The reward of the sums: reasoning-gym judges the last number of a completion."""

import re

import reasoning_gym

CHAIN_SUM = reasoning_gym.create_dataset("chain_sum", size=1)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def last_number(completion):
    """The text of the last number of the assistant's message; None where it has none."""
    numbers = NUMBER.findall(completion[-1]["content"])
    return numbers[-1] if numbers else None


def sums(completions, entry, **columns):
    """1 where the last number is the answer, else 0; `entry` is the column that make_data.py writes."""
    scores = [CHAIN_SUM.score_answer(last_number(c), e) for c, e in zip(completions, entry, strict=True)]
    return [float(score == 1.0) for score in scores]
