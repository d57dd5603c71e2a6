#!/bin/sh
# Compares two commits: their speed, by runs that alternate, or with --bits what their runs write.
#
#   bench/regress.sh BASE [HEAD] [ROUNDS]         fails if HEAD is more than 5 % slower; ROUNDS: default 7
#   bench/regress.sh --bits BASE [HEAD] [STEPS]   fails if a byte of metrics, completions or weights differs after STEPS
#                                                 steps (60) of the demo and of runs with LoRA, experts, a critic, dynamic
#                                                 sampling, process rewards and two iterations
#
# HEAD: default the commit checked out.
# Each commit is built in a folder of its own, build/regress/COMMIT, which later comparisons find.
set -eu
cd "$(dirname "$0")/.."
script=regress.py
count=7
if [ "${1:-}" = --bits ]; then
  script=same_bits.py
  count=60
  shift
fi
[ $# -ge 1 ] || {
  sed -n '2,9p' "$0" >&2
  exit 2
}

# Builds a revision and prints its folder.
build() {
  commit=$(git rev-parse --verify --quiet "$1^{commit}") || {
    echo "regress: $1 is no commit of this repository" >&2
    exit 2
  }
  folder=build/regress/$commit
  [ -e "$folder/Makefile" ] || git worktree add --quiet --force --detach "$folder" "$commit" >&2
  echo "regress: building $1" >&2
  COHORT_PYTHON=$(cat build/torch-python) make --silent -C "$folder" build > "$folder.log" 2>&1 || {
    tail -20 "$folder.log" >&2
    exit 1
  }
  echo "$folder"
}

make --silent build
base=$(build "$1")
head=$(build "${2:-HEAD}")
exec python3 "bench/$script" "$base" "$head" "${3:-$count}"
