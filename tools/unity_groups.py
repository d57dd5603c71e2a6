"""Groups C++ files for unity builds, so that no two files of a group declare the same name.

    unity_groups.py MAX_FILES FILE...     prints "<group> <file>" a line; groups hold at most MAX_FILES files

A unity build compiles several files as one, and names in anonymous namespaces may then clash with each other or with a
name in a header that only the other file includes. The script reads names from lines that start in column 0, which is
where clang-format puts declarations of a namespace.
"""

import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What starts a line in column 0 and declares no name of its own.
NO_DECLARATION = re.compile(
    r"(namespace|public|private|protected|extern|return|case|default|TEST\w*|INSTANTIATE_\w+)\b"
)
TYPE = re.compile(
    r"(?:enum class|enum|struct|class|union) (\w+)\b(?!::)|using (\w+) =|using [\w:]*::(\w+);|#define (\w+)"
)
# The last name in front of a parameter list, an initializer or an array's extent.
OBJECT = re.compile(r"([\w:~]+)\s*[(=\[{;]")


@cache
def declarations(path):
    """Names that a file declares at namespace scope: first its own, which no header declares, then all others."""
    local, shared, anonymous = set(), set(), False
    text = path.read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("namespace {"):
            anonymous = True
        elif line == "}  // namespace":
            anonymous = False
        name = declared_name(line)
        if name:
            own = anonymous or (path.suffix == ".cpp" and TYPE.match(line))
            (local if own else shared).add(name)
    return local.difference(re.findall(r"^#undef (\w+)", text, re.MULTILINE)), shared


def declared_name(line):
    line = re.sub(r"^template <.*?> (?=\w)", "", line)
    if not re.match(r"[A-Za-z_]|#define", line) or NO_DECLARATION.match(line):
        return None
    if match := TYPE.match(line):
        return next(filter(None, match.groups()))
    match = OBJECT.search(line)
    return match[1] if match and "::" not in match[1] else None


@cache
def headers(path):
    """The project's headers that a file includes, directly or not."""
    found = set()
    for name in re.findall(r'^#include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
        for candidate in (ROOT / name, path.parent / name):
            if candidate.exists():
                found |= {candidate.resolve()} | headers(candidate.resolve())
                break
    return frozenset(found)


@cache
def visible(path):
    """Names that other files of a unity see: those of a file that are not local, and those of its headers."""
    names = set(declarations(path)[1])
    for header in headers(path):
        names.update(*declarations(header))
    return names


def clash(first, second):
    one, other = declarations(first)[0], declarations(second)[0]
    return one & other or one & visible(second) or other & visible(first)


def group(paths, max_files):
    """The files with most clashes choose first, each the smallest group without a clash."""
    clashes = {path: {other for other in paths if other != path and clash(path, other)} for path in paths}
    groups = [[] for _ in range(-(-len(paths) // max_files))]
    for path in sorted(paths, key=lambda path: -len(clashes[path])):
        open_groups = [g for g in groups if len(g) < max_files and not clashes[path].intersection(g)]
        if not open_groups:
            open_groups = [[]]
            groups += open_groups
        min(open_groups, key=len).append(path)
    return [sorted(members) for members in groups]


if __name__ == "__main__":
    for number, members in enumerate(
        group([Path(name).resolve() for name in sys.argv[2:]], int(sys.argv[1]))
    ):
        for member in members:
            print(number, member)
