"""Runs a test in a virtual environment of its own, build/NAME, for packages that only this test needs.

python tests/python/own_environment.py NAME TEST.py [--alone] REQUIREMENT ...

The environment borrows the packages of this interpreter, unless it is --alone, and is made anew when its requirements change.
"""

import os
import pathlib
import site
import subprocess
import sys

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"


def environment_with(name, requirements, borrows):
    """The interpreter of the environment."""
    venv = BUILD / name
    python, stamp = venv / "bin" / "python", venv / "requirements"
    wanted = " ".join([sys.version, str(borrows), *requirements])
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        if borrows:
            (packages,) = (venv / "lib").glob("python3*/site-packages")
            (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
        subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=True)
        stamp.write_text(wanted)
    return python


def main():
    name, test, *requirements = sys.argv[1:]
    borrows = "--alone" not in requirements
    python = environment_with(name, [one for one in requirements if one != "--alone"], borrows)
    os.execv(python, [python, pathlib.Path(__file__).with_name(test)])


if __name__ == "__main__":
    main()
