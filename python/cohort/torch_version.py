"""The torch that the extension and the program were built against, and the one that is installed.

torch's C++ interface changes from release to release: with another one the linker would complain about a symbol.
"""

import importlib.util
import re
import types
from pathlib import Path


def installed():
    """Folder and version of the torch that `import torch` takes, without the import; None if there is none."""
    try:
        spec = importlib.util.find_spec("torch")
        folder = Path(spec.origin).parent
        return folder, re.search(r"__version__ = '(.+)'", (folder / "version.py").read_text())[1]
    except (AttributeError, OSError, TypeError, ValueError):
        return None


def mismatch():
    """Why the compiled parts don't run with the installed torch, in one line; None if they do or were not built."""
    try:
        from cohort.built_with import DEVICE, TORCH
    except ModuleNotFoundError:
        return None
    wanted = TORCH.split("+")[0]
    found = installed()
    if found is None:
        return (
            f"cohort was built against torch {wanted}, none is installed: run `pip install torch=={wanted}`"
        )
    folder, version = found
    if version.split("+")[0] != wanted:
        return (
            f"cohort was built against torch {wanted}, {version} is installed: run `pip install torch=={wanted}`, "
            f"or build cohort against torch {version} (docs/python/install.md)"
        )
    if DEVICE == "cuda" and not (folder / "lib/libtorch_cuda.so").exists():
        return (
            f"cohort was built against torch {TORCH} with CUDA, the installed torch {version} has no CUDA: "
            "install a torch with CUDA"
        )
    return None


def refusal(reason):
    """A module in place of the extension: whatever is imported from it raises ImportError with the reason."""
    module = types.ModuleType("cohort._cohort")

    def refuse(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise ImportError(reason)

    module.__getattr__ = refuse
    return module
