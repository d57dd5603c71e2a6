#!/bin/sh
# clang-tidy over all sources of the project (or those given) by build/compile_commands.json, then ruff.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.venv-tools/bin
[ $# -gt 0 ] || set -- $(git ls-files 'cohort/*.cpp' 'apps/*.cpp' 'examples/*.cpp')
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" "$tools/clang-tidy" -p build --quiet
"$tools/ruff" check --quiet .
