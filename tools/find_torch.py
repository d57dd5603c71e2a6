"""Prints what CMake and the set-up need to know of this interpreter's torch, from files alone.

    find_torch.py            a line each: folder, version, "cuda" or "cpu" (what the program links)
    find_torch.py --driver   exit code 0 if this machine has an NVIDIA driver

COHORT_CUDA=1 or COHORT_CUDA=0 overrides the search for a driver. torch is not imported: an installation without CUDA's
libraries can be linked but not imported.
"""

import ctypes.util
import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

MINIMUM = (2, 11)


def has_driver():
    wanted = os.environ.get("COHORT_CUDA", "")
    if wanted not in ("", "0", "1"):
        sys.exit(f"COHORT_CUDA is {wanted!r}; it must be 0 or 1")
    if wanted:
        return wanted == "1"
    found = os.path.exists("/dev/nvidiactl") or shutil.which("nvidia-smi") or ctypes.util.find_library("cuda")
    return bool(found)


def torch_lines():
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit("no torch package")
    root = Path(spec.origin).parent
    version = re.search(r"__version__ = '(.+)'", (root / "version.py").read_text())[1]
    if tuple(int(part) for part in version.split("+")[0].split(".")[:2]) < MINIMUM:
        sys.exit(f"torch {version} is older than {MINIMUM[0]}.{MINIMUM[1]}")
    device = "cuda" if has_driver() and (root / "lib/libtorch_cuda.so").exists() else "cpu"
    return [root, version, device]


if __name__ == "__main__":
    if sys.argv[1:] == ["--driver"]:
        sys.exit(0 if has_driver() else 1)
    print(*torch_lines(), sep="\n")
