"""Checks that every #include "cohort/..." and "libs/..." follows the arrows of tools/layers.txt, and that no two headers
define a type of one name: the linker would keep the destructor of one of them for both.

The headers in libs/<name>/internal/ are for that library and its tests (tests/libs/<name>) alone.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TORCH = re.compile(r'#include [<"](ATen|c10|torch)/')
PROJECT = re.compile(r'#include "((?:cohort|libs)/[^"]+)"')


def read_layers():
    direct, no_torch = {}, set()
    for line in (ROOT / "tools/layers.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, rest = line.split(":")
        if "(no torch)" in rest:
            no_torch.add(name)
        direct[name] = rest.replace("(no torch)", "").split()
    return direct, no_torch


def closure(direct, name):
    seen, stack = set(), [name]
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            stack += direct[current]
    return seen


def layer_of(parts, direct):
    """The layer of a file by the parts of its path. A folder that has rooms in tools/layers.txt counts by room."""
    if parts[0] == "tests":
        return "/".join(parts[1:3])
    if parts[0] == "libs":
        return "/".join(parts[:2])
    if parts[0] != "cohort":
        return "apps"
    has_rooms = any(name.startswith(parts[1] + "/") for name in direct)
    return "/".join(parts[1:3]) if has_rooms and len(parts) > 3 else parts[1]


def violations():
    direct, no_torch = read_layers()
    folders = ["libs", "cohort", "apps", "tests/libs"]
    for path in sorted(path for folder in folders for path in ROOT.glob(f"{folder}/**/*.*")):
        if path.suffix not in {".h", ".cpp", ".def", ".inc", ".cu"}:
            continue
        layer = layer_of(path.relative_to(ROOT).parts, direct)
        if layer not in direct:
            yield f"{path}: folder '{layer}' is not in tools/layers.txt"
            continue
        allowed = closure(direct, layer)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if included := PROJECT.match(line):
                parts = included[1].split("/")
                name = layer_of(parts, direct)
                if name not in allowed:
                    yield f"{path}:{number}: {layer} may not include {name}"
                if "internal" in parts and name != layer:
                    yield f"{path}:{number}: internal headers of {name} are not for {layer}"
            if TORCH.match(line) and layer in no_torch:
                yield f"{path}:{number}: {layer} may not include torch headers"


def repeated_types():
    seen = {}
    for path in sorted(
        path for folder in ("libs", "cohort", "apps") for path in ROOT.glob(f"{folder}/**/*.h")
    ):
        text = path.read_text()
        (*_, namespace) = ["", *re.findall(r"^namespace ([\w:]+) \{$", text, re.MULTILINE)]
        for name in re.findall(r"^(?:struct|class) (\w+)(?: final)?(?: :[^;{]*)? \{", text, re.MULTILINE):
            first = seen.setdefault((namespace, name), path)
            if first != path:
                yield f"{path}: {namespace}::{name} is also a type of {first}"


problems = [*violations(), *repeated_types()]
print("\n".join(problems) or "layers: ok")
sys.exit(1 if problems else 0)
