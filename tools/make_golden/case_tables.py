#!/usr/bin/env python3
"""Writes libs/jinja/internal/case_tables.inc: how Python maps the case of every code point.

    python tools/make_golden/case_tables.py

A CaseRun {first, last, step, delta} maps first, first + step, ... last to themselves plus delta; a CaseText maps one
code point to several. Python 3.11 has Unicode 14.
"""

import pathlib
import sys
import unicodedata

OUTPUT = pathlib.Path(__file__).parents[2] / "libs/jinja/internal/case_tables.inc"
ALL = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]


def runs(mapping):
    result = []
    for code, delta in mapping:
        if result:
            first, last, step, old = result[-1]
            gap = code - last
            if old == delta and gap in (1, 2) and step in (0, gap):
                result[-1] = (first, code, gap, delta)
                continue
        result.append((code, code, 0, delta))
    return [(first, last, step or 1, delta) for first, last, step, delta in result]


def write_lines(out, items):
    line = "   "
    for item in items:
        if len(line) + len(item) > 108:
            out.append(line)
            line = "   "
        line += " " + item
    out.append(line)


def write_map(out, name, function):
    single, several = [], []
    for code in ALL:
        mapped = function(chr(code))
        if len(mapped) > 1:
            several.append((code, mapped))
        elif ord(mapped) != code:
            single.append((code, ord(mapped) - code))
    out.append(f"constexpr CaseRun k{name}Runs[] = {{")
    write_lines(out, [f"{{{a:#x}, {b:#x}, {s}, {d}}}," for a, b, s, d in runs(single)])
    out += ["};", f"constexpr CaseText k{name}Texts[] = {{"]
    spell = lambda text: "".join(x if ord(x) < 0x80 else f"\\U{ord(x):08x}" for x in text)
    write_lines(out, [f'{{{code:#x}, U"{spell(text)}"}},' for code, text in several])
    out.append("};")


def write_set(out, name, function):
    codes = [(c, 0) for c in ALL if function(chr(c))]
    out.append(f"constexpr CaseRun k{name}[] = {{")
    write_lines(out, [f"{{{a:#x}, {b:#x}, {s}, 0}}," for a, b, s, _ in runs(codes)])
    out.append("};")


def main():
    out = [
        f"// Written by tools/make_golden/case_tables.py from Unicode {unicodedata.unidata_version}.",
        "// clang-format off",
    ]
    write_map(out, "Lower", str.lower)
    write_map(out, "Upper", str.upper)
    write_map(out, "Title", str.title)
    write_map(out, "Fold", str.casefold)
    write_set(out, "IsLower", str.islower)
    write_set(out, "IsUpper", str.isupper)
    write_set(out, "IsTitle", lambda c: unicodedata.category(c) == "Lt")
    OUTPUT.write_text("\n".join(out) + "\n")


main()
