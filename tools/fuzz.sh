#!/bin/sh
# Runs fuzz targets under ASan and UBSan, one after another, from their seeds; stops at the first finding.
#
#   tools/fuzz.sh SECONDS [NAME ...]    NAME: tests/fuzz/NAME_fuzz.cpp; all of them without a name
#
# What libFuzzer finds worth keeping lies in build-fuzz/corpus/NAME, and a run goes on from there.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
[ $# -gt 0 ] || set -- $(ls tests/fuzz/*_fuzz.cpp | sed 's,.*/,,; s,_fuzz.cpp,,')
python=$(cat build/torch-python 2> /dev/null || command -v python3)
[ -e build-fuzz/build.ninja ] || cmake --preset fuzz -DCOHORT_PYTHON="$python" > /dev/null
for name in "$@"; do
  cmake --build build-fuzz --target "fuzz_$name"
  corpus=build-fuzz/corpus/$name
  mkdir -p "$corpus" build-fuzz/findings
  echo "fuzz: $name for $seconds s"
  # Torch is not instrumented: its containers and ours share headers, not annotations.
  ASAN_OPTIONS=detect_container_overflow=0 OMP_NUM_THREADS=1 \
    build-fuzz/fuzz_"$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix=build-fuzz/findings/"$name"- "$corpus" tests/fuzz/seeds/"$name" > build-fuzz/"$name".log 2>&1 || {
    tail -40 build-fuzz/"$name".log >&2
    exit 1
  }
  grep -E 'number_of_executed_units|new_units_added|peak_rss' build-fuzz/"$name".log
done
