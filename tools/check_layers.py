"""Checks that every #include "cohort/..." follows the arrows of tools/layers.txt."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TORCH = re.compile(r'#include [<"](ATen|c10|torch)/')
COHORT = re.compile(r'#include "cohort/([a-z_]+)/')


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


def violations():
    direct, no_torch = read_layers()
    for path in sorted([*ROOT.glob("cohort/**/*.*"), *ROOT.glob("apps/**/*.*")]):
        if path.suffix not in {".h", ".cpp", ".def", ".cu"}:
            continue
        parts = path.relative_to(ROOT).parts
        layer = parts[1] if parts[0] == "cohort" else "apps"
        if layer not in direct:
            yield f"{path}: folder '{layer}' is not in tools/layers.txt"
            continue
        allowed = closure(direct, layer)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            used = COHORT.match(line)
            if used and used[1] not in allowed:
                yield f"{path}:{number}: {layer} may not include {used[1]}"
            if TORCH.match(line) and layer in no_torch:
                yield f"{path}:{number}: {layer} may not include torch headers"


problems = list(violations())
print("\n".join(problems) or "layers: ok")
sys.exit(1 if problems else 0)
