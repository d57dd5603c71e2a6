"""The stub of cohort._cohort.objectives, from what the module says of itself.

PYTHONPATH=build/python .venv-test/bin/python tools/make_stubs.py > python/cohort/_cohort/objectives.pyi
"""

import re

from cohort._cohort import objectives

HEAD = '''"""Made by tools/make_stubs.py from the compiled module: change the bindings in python/*.cpp."""

import collections.abc
from typing import Any

from torch import Tensor

'''
TYPES = [
    ("torch.Tensor", "Tensor"),
    ("typing.SupportsFloat | typing.SupportsIndex", "float"),
    ("typing.SupportsInt | typing.SupportsIndex", "int"),
    ("typing.SupportsInt", "int"),
    ("typing.SupportsFloat", "float"),
    ("dict", "dict[str, Any]"),
]


def stub(function):
    """`def name(...) -> result: ...` from the first line of pybind11's docstring."""
    line = function.__doc__.splitlines()[0]
    for long, short in TYPES:
        line = re.sub(rf"(?<![\w.]){re.escape(long)}(?![\w.\[])", short, line)
    return f"def {line}: ...\n"


def text():
    functions = [value for name, value in vars(objectives).items() if not name.startswith("_")]
    return HEAD + "".join(map(stub, functions))


if __name__ == "__main__":
    print(text(), end="")
