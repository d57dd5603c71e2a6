#!/bin/sh
# Compares the speed of two commits by runs that alternate; fails where the second is more than 5 % slower.
#
#   bench/regress.sh BASE [HEAD] [ROUNDS]    HEAD: default the commit checked out; ROUNDS: default 7
#
# Each commit is built in a folder of its own, build/regress/COMMIT, which later comparisons find.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || {
  sed -n '2,6p' "$0" >&2
  exit 2
}
rounds=${3:-7}

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
exec python3 bench/regress.py "$base" "$head" "$rounds"
