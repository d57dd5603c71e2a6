#!/bin/sh
# clang-tidy over all sources of the project (or those given), then ruff.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.venv-tools/bin
# clang does not know all of g++'s warnings and flags, cannot read g++'s precompiled header and needs g++'s omp.h, after
# its own headers. g++ itself warns of deprecated calls; clang also finds those that g++'s own std::stable_sort makes.
gcc_headers=$(dirname "$(g++ -print-file-name=include/omp.h)")
if [ $# -gt 0 ]; then
  # The debug preset compiles every file for itself, so that its compile_commands.json names them all.
  folder=build-debug
  cmake --preset debug -DCOHORT_PYTHON="$(cat build/torch-python)" >/dev/null
else
  folder=build
  set -- $(python3 tools/lint_units.py build)
fi
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" "$tools/clang-tidy" -p "$folder" --quiet \
  --checks=-bugprone-suspicious-include --extra-arg=-Wno-unknown-warning-option \
  --extra-arg=-Wno-unused-command-line-argument --extra-arg=-Wno-ignored-gch \
  --extra-arg=-Wno-deprecated-declarations --extra-arg="-idirafter$gcc_headers"
"$tools/ruff" check --quiet .
