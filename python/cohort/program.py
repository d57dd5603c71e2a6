"""The command `cohort`: becomes the native program of the package, run with the torch of this Python."""

import os
import sys
from pathlib import Path

from cohort import torch_version


def main():
    """Never returns if the program starts; otherwise prints one line and returns exit code 2."""
    package = Path(__file__).parent
    program = package / "bin" / "cohort"
    reason = torch_version.mismatch()
    if reason is None and not program.exists():
        reason = f"cohort: {program} is missing: this package was not installed by pip"
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    environment = dict(os.environ)
    # Reward functions and `cohort data convert` run with the first python3 of PATH: this one.
    _prepend(environment, "PATH", Path(sys.executable).parent)
    torch, _ = torch_version.installed()
    beside = package.resolve().parent / "torch"  # where the program looks for it
    if not (beside.exists() and beside.samefile(torch)):
        _prepend(environment, "LD_LIBRARY_PATH", torch / "lib")
    os.execve(program, ["cohort", *sys.argv[1:]], environment)


def _prepend(environment, name, folder):
    others = environment.get(name)
    environment[name] = f"{folder}{os.pathsep}{others}" if others else str(folder)
