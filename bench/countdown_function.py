"""Countdown judged by a Python function, as TRL calls them: 1 when the last <answer> uses each number exactly once and equals
the target, else 0."""

import ast
import operator
import re
import time
from fractions import Fraction

OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
SECONDS = 1e-3  # what judging a completion costs at least, as for a verifier that has to wait for something


def value_of(node, used):
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        return OPERATIONS[type(node.op)](value_of(node.left, used), value_of(node.right, used))
    if isinstance(node, ast.Constant) and type(node.value) is int:
        used.append(node.value)
        return Fraction(node.value)
    raise ValueError("no such expression")


def is_right(completion, numbers, target):
    answers = re.findall(r"<answer>([^<]*)</answer>", completion)
    used = []
    try:
        value = value_of(ast.parse(answers[-1].strip(), mode="eval").body, used)
    except (IndexError, SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return False
    return value == target and sorted(used) == sorted(numbers)


def countdown(completions, numbers, target, **columns):
    time.sleep(SECONDS * len(completions))
    return [float(is_right(*row)) for row in zip(completions, numbers, target)]
