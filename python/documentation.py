"""The documentation of the functions that C++ headers declare, as entries of a C++ map: `{"name", R"(text)"},`

python3 documentation.py header.h... > documentation.inc
"""

import pathlib
import re
import sys

DECLARATION = re.compile(r"((?:^/// .*\n)+)^[\w:<>, ]*?\b(\w+)\(", re.MULTILINE)


def comment(lines, mark):
    return " ".join(line.removeprefix(mark).strip() for line in lines.splitlines())


def documentation(header):
    """{function: text} of a header's text; several functions of one name share their texts."""
    legend = comment(re.match(r"(?://.*\n)+", header)[0], "//")
    texts = {}
    for lines, name in DECLARATION.findall(header):
        texts.setdefault(name, []).append(comment(lines, "///"))
    return {name: "\n\n".join([*parts, legend]) for name, parts in texts.items()}


if __name__ == "__main__":
    for path in sys.argv[1:]:
        for name, text in documentation(pathlib.Path(path).read_text()).items():
            print(f'{{"{name}", R"doc({text})doc"}},')
