#!/bin/sh
# Runs tests of the Python package over an extension with ASan and UBSan, with build/cohort beside it; stops at the first
# finding. The extension: cmake --preset asan && cmake --build build-asan --target cohort_python
#   tools/asan_python.sh [tests/python/test_engine.py ...]
set -eu
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
  for part in engine engine_inputs engine_process engine_fuzz loss_functions trainer_robust trainer_process; do
    set -- "$@" "tests/python/test_$part.py"
  done
fi
# Python has no sanitizer, so its libraries come first. Leaks are not looked for: Python's own are too many;
# tests/python/test_trainer_memory.py measures ours.
libraries="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so) $(g++ -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:handle_segv=1 UBSAN_OPTIONS=print_stacktrace=1
export COHORT=build/cohort PYTHONPATH=build-asan/python PYTHONMALLOC=malloc OMP_NUM_THREADS=1
for test in "$@"; do
  echo "$test"
  LD_PRELOAD="$libraries" .venv-test/bin/python "$test"
done
