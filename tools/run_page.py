"""Runs the shell commands of a page of the documentation: its blocks that begin with ```sh, in order, in one shell.

python3 tools/run_page.py docs/tutorials/smollm2.md
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def commands(text):
    """The lines of all ```sh blocks of a page."""
    return "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("page", type=pathlib.Path)
    script = commands(parser.parse_args().page.read_text(encoding="utf-8"))
    if not script:
        sys.exit("the page has no ```sh block")
    # -e ends at the first command that fails; -x shows each, with the seconds since the beginning.
    return subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", "PS4='+ $SECONDS s: '\n" + script], cwd=ROOT
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
