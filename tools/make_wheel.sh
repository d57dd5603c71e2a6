#!/bin/sh
# Makes the Python package's files as others install them: an sdist, the wheel that pip builds from it, and from that
# wheel, with auditwheel, one for other machines, which carries all libraries but torch's.
#
#   tools/make_wheel.sh PYTHON [OUT]   for the torch of PYTHON, in OUT (dist); the wheel as pip made it is in OUT/raw
set -eu
cd "$(dirname "$0")/.."
python=$1
out=${2:-dist}

tools/setup.sh --wheel "$python"
tools=$PWD/.venv-wheel/bin
mkdir -p "$out"
rm -rf "$out"/cohort-*.tar.gz "$out"/cohort-*.whl "$out/raw"

stage() { # stage NAME COMMAND...: runs it and says how long it took
  name=$1
  shift
  began=$(date +%s)
  "$@" > "$out/$name.log" 2>&1 || {
    tail -n 30 "$out/$name.log" >&2
    echo "wheel: $name failed; all that it said is in $out/$name.log" >&2
    exit 1
  }
  rm "$out/$name.log"
  echo "wheel: $name took $(($(date +%s) - began)) s"
}

stage sdist "$tools/python" -m build --no-isolation --skip-dependency-check --sdist --outdir "$out" .
stage build env COHORT_LOCAL_VERSION=1 "$tools/python" -m pip wheel --no-build-isolation --no-deps -w "$out/raw" \
  "$out"/cohort-*.tar.gz
stage repair env PATH="$tools:$PATH" "$tools/auditwheel" repair --exclude 'libtorch*' --exclude 'libc10*' \
  --exclude libgomp.so.1 -w "$out" "$out"/raw/cohort-*.whl
du -h --apparent-size "$out"/cohort-* "$out"/raw/* | sed 's/^/wheel: /'
