"""The stubs of the extension cohort._cohort, from what its submodules say of themselves.

PYTHONPATH=build/python .venv-test/bin/python tools/make_stubs.py    writes python/cohort/_cohort/*.pyi
"""

import inspect
import pathlib
import re

from cohort import _cohort

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "python/cohort/_cohort"
HEAD = '"""Made by tools/make_stubs.py from the compiled module: change the bindings in python/*.cpp."""\n\n'
IMPORTS = [  # a part of a stub's text, and what it needs
    ("collections.abc.", "import collections.abc\n"),
    ("Any", "from typing import Any\n"),
    ("Tensor", "\nfrom torch import Tensor\n"),
]
TYPES = [
    ("torch.Tensor", "Tensor"),
    ("typing.SupportsFloat | typing.SupportsIndex", "float"),
    ("typing.SupportsInt | typing.SupportsIndex", "int"),
    ("typing.SupportsInt", "int"),
    ("typing.SupportsFloat", "float"),
    ("dict", "dict[str, Any]"),
    ("list", "list[Any]"),
]


def signature(documented):
    """`name(...) -> result` from the first line of pybind11's docstring."""
    line = documented.__doc__.splitlines()[0]
    line = re.sub(r"self: [\w.]+", "self", line)
    line = re.sub(r"cohort\._cohort\.\w+\.(\w+)", r"\1", line)
    for long, short in TYPES:
        line = re.sub(rf"(?<![\w.]){re.escape(long)}(?![\w.\[])", short, line)
    return line


def class_stub(name, kind):
    if issubclass(kind, Exception):
        return f"class {name}({kind.__base__.__name__}): ...\n"
    return f"class {name}:\n" + members_stub(vars(kind))


def members_stub(members):
    text = ""
    for member, value in members.items():
        if member.startswith("_"):
            continue
        if isinstance(value, property):
            text += (
                f"    @property\n    def {member}(self){re.search(' -> .*', signature(value.fget))[0]}: ...\n"
            )
        elif isinstance(value, staticmethod):
            text += f"    @staticmethod\n    def {signature(value.__func__)}: ...\n"
        else:
            text += f"    def {signature(value)}: ...\n"
    return text


def modules():
    """The submodules by name."""
    return {name: value for name, value in vars(_cohort).items() if inspect.ismodule(value)}


def text(module):
    named = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    classes = "".join(
        class_stub(name, value) + "\n" for name, value in named.items() if inspect.isclass(value)
    )
    constants = "".join(
        f"{name}: {type(value).__name__}\n" for name, value in named.items() if isinstance(value, int)
    )
    functions = [value for value in named.values() if inspect.isbuiltin(value)]
    body = classes + constants + "".join(f"def {signature(function)}: ...\n" for function in functions)
    used = "".join(line for name, line in IMPORTS if name in body)
    return HEAD + used.removeprefix("\n") + "\n" + body


if __name__ == "__main__":
    for name, module in modules().items():
        (FOLDER / f"{name}.pyi").write_text(text(module))
