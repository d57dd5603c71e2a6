"""What clang-tidy reads to see all sources, a line each: the groups that the build compiles as one file (most of the time
goes into headers, which a group reads once), and the sources that are compiled alone.

  python3 tools/lint_units.py BUILD_FOLDER
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("libs", "cohort", "apps", "examples", "python")


def is_ours(unit):
    """Whether a unit is a source of these folders or a group of such, which has the first source in its second line."""
    if unit.name.startswith("unity_"):
        includes = [line for line in unit.read_text().splitlines() if line.startswith("#include")]
        unit = pathlib.Path(includes[0].split('"')[1]) if includes else unit
    return unit.is_relative_to(ROOT) and unit.relative_to(ROOT).parts[0] in FOLDERS


def main():
    commands = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text())
    units = sorted({command["file"] for command in commands})
    print("\n".join(unit for unit in units if is_ours(pathlib.Path(unit))))


if __name__ == "__main__":
    main()
