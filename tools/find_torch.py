"""Prints where this interpreter's torch lies, its version and its C++ ABI flag, a line each; used by CMake and setup."""

import importlib.util
import sys

MINIMUM = (2, 11)

if importlib.util.find_spec("torch") is None:
    sys.exit("no torch package")

import torch  # noqa: E402

version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
if version < MINIMUM:
    sys.exit(f"torch {torch.__version__} is older than {MINIMUM[0]}.{MINIMUM[1]}")
print(torch.__path__[0])
print(torch.__version__)
print(int(torch.compiled_with_cxx11_abi()))
