"""What the package says to pip that no file states: its version, that of CMakeLists.txt, and the torch that it works with.

A wheel works with exactly the torch that it was built against, the sources with any that can build them. With
COHORT_LOCAL_VERSION=1 (tools/make_wheel.sh) the wheel's version names that torch, too: 0.1.0+torch2.13.0.
"""

import os
import re
import sys
from pathlib import Path

import find_torch

ROOT = Path(__file__).resolve().parent.parent


def usable_torch():
    """The release of the torch that the build finds, such as "2.13.0"."""
    try:
        return find_torch.torch_lines()[1].split("+")[0]
    except SystemExit as problem:
        minimum = "{}.{}".format(*find_torch.MINIMUM)
        sys.exit(
            f"cohort is built against the torch of {sys.executable}: {problem}. Run `pip install 'torch>={minimum}'`, "
            "or leave out --no-build-isolation"
        )


class Provider:
    """Called by scikit-build-core, as [[tool.dynamic-metadata]] of pyproject.toml says."""

    def build_state(self, state):
        self.is_wheel = state != "sdist"

    def dynamic_metadata(self, settings, project):
        version = re.search(r"^project\(cohort VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        if not self.is_wheel:
            return {"version": version, "dependencies": ["torch>={}.{}".format(*find_torch.MINIMUM)]}
        torch = usable_torch()
        if os.environ.get("COHORT_LOCAL_VERSION") == "1":
            version += f"+torch{torch}"
        return {"version": version, "dependencies": [f"torch=={torch}"]}

    def dynamic_wheel(self, settings):
        return {"dependencies": True}
