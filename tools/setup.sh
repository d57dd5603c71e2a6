#!/bin/sh
# Installs what is missing to build Cohort and says what it does. A second run finds everything and installs nothing.
#
#   tools/setup.sh [FILE]            compiler, libraries and LibTorch; writes the path of the Python whose torch is used,
#                                    and "cuda" or "cpu" to the file torch-device beside it
#   tools/setup.sh --tools           the pinned formatters and linters, in .venv-tools
#   tools/setup.sh --test [PYTHON]   the reference libraries of the tests, in .venv-test
#   tools/setup.sh --wheel [PYTHON]  what tools/make_wheel.sh needs, in .venv-wheel
#   tools/setup.sh --fuzz            the compiler of the fuzz targets
#   tools/setup.sh --clusters        the Slurm, the mpirun and the browser that slow tests start
#
# A torch of at least 2.11 that `python3` (or $COHORT_PYTHON) already has is used as it is; otherwise torch goes into
# .venv. On a machine without an NVIDIA driver .venv gets none of CUDA's libraries that the program can do without:
# 0.5 GB of downloads instead of 2.7. COHORT_CUDA=1 installs them all the same, COHORT_CUDA=0 never. pip's own
# configuration decides where packages come from.
set -eu
cd "$(dirname "$0")/.."

say() { echo "set-up: $*"; }

case ${COHORT_CUDA:-} in
  "" | 0 | 1) ;;
  *)
    say "COHORT_CUDA is \"$COHORT_CUDA\"; it must be 0 or 1" >&2
    exit 2
    ;;
esac

start_clock() { began=$(date +%s); }
say_took() { say "$1 took $(($(date +%s) - began)) s"; }

# One line of Debian package names: those whose command or pkg-config module is missing.
missing_packages() {
  for pair in g++:g++ cmake:cmake ninja:ninja-build ccache:ccache pkg-config:pkg-config; do
    command -v "${pair%%:*}" > /dev/null || printf '%s ' "${pair#*:}"
  done
  for pair in libpcre2-8:libpcre2-dev libutf8proc:libutf8proc-dev nlohmann_json:nlohmann-json3-dev \
    tomlplusplus:libtomlplusplus-dev libtcmalloc_minimal:libgoogle-perftools-dev gtest:libgtest-dev \
    zlib:zlib1g-dev libzstd:libzstd-dev libseccomp:libseccomp-dev \
    libcurl:libcurl4-openssl-dev sqlite3:libsqlite3-dev; do
    pkg-config --exists "${pair%%:*}" 2> /dev/null || printf '%s ' "${pair#*:}"
  done
  # These have no pkg-config files.
  [ -e /usr/include/flint/fmpq.h ] || printf '%s ' libflint-dev
  [ -e /usr/include/boost/beast/http.hpp ] || printf '%s ' libboost-dev
  [ -e /usr/include/acb.h ] || printf '%s ' libflint-arb-dev
  [ -e /usr/include/gloo/context.h ] || printf '%s ' libgloo-dev
  # JavaScript of the page of `cohort view`.
  [ -e /usr/share/javascript/dygraphs/dygraph.min.js ] || printf '%s ' libjs-dygraphs
  [ -e /usr/share/javascript/jquery/jquery.min.js ] || printf '%s ' libjs-jquery
  [ -e /usr/share/javascript/jquery-datatables/jquery.dataTables.min.js ] || printf '%s ' libjs-jquery-datatables
  python3 -c 'import ensurepip, venv' 2> /dev/null || printf '%s' 'python3 python3-venv'
}

# The clang that the CMake preset "fuzz" names.
missing_fuzz_packages() {
  command -v clang++-19 > /dev/null || printf '%s' 'clang-19 libclang-rt-19-dev'
}

missing_cluster_packages() {
  for pair in mpirun:openmpi-bin munged:munge slurmctld:slurmctld slurmd:slurmd srun:slurm-client; do
    command -v "${pair%%:*}" > /dev/null || printf '%s ' "${pair#*:}"
  done
}

missing_browser_packages() {
  for pair in chromium:chromium chromedriver:chromium-driver; do
    command -v "${pair%%:*}" > /dev/null || printf '%s ' "${pair#*:}"
  done
}

# install_packages NAMES: installs them where there are any.
install_packages() {
  packages=$1
  [ -n "$packages" ] || return 0
  command="apt-get update && apt-get install -y --no-install-recommends $packages"
  if ! command -v apt-get > /dev/null; then
    say "these packages (Debian's names) are missing; install them and run this again: $packages" >&2
    exit 1
  fi
  if [ "$(id -u)" != 0 ]; then
    say "system packages are missing and only root can install them. Run this line, then the same command again:" >&2
    echo "  sudo sh -c '$command'" >&2
    exit 1
  fi
  say "installing system packages: $packages"
  start_clock
  DEBIAN_FRONTEND=noninteractive sh -c "$command" > /tmp/cohort-apt-$$.log 2>&1 || {
    tail -20 "/tmp/cohort-apt-$$.log" >&2
    exit 1
  }
  rm -f "/tmp/cohort-apt-$$.log"
  say_took "system packages"
}

pip_install() { # pip_install VENV ARGUMENTS
  venv=$1
  shift
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

# make_venv DIR PYTHON REQUIREMENTS: a virtual environment, remade when interpreter or requirements change. Packages of
# which only files are read are in REQUIREMENTS-no-deps.txt: what they depend on would be larger than all else.
make_venv() {
  extra="${3%.txt}-no-deps.txt"
  wanted="python $2
$(cat "$3"; [ ! -f "$extra" ] || cat "$extra")"
  [ "$1" != .venv ] || ! has_driver || wanted="$wanted
with CUDA"
  [ "$(cat "$1/cohort-stamp" 2> /dev/null)" != "$wanted" ] || return 0
  say "making $1 with $(tr '\n' ' ' < "$3")"
  start_clock
  "$2" -m venv --clear "$1"
  case $1 in
    .venv) install_torch "$3" ;;
    *) install_requirements "$1" "$2" "$3" "$extra" ;;
  esac
  say_took "$1, $(du -sm "$1" | cut -f1) MB,"
  echo "$wanted" > "$1/cohort-stamp"
}

install_requirements() { # install_requirements VENV PYTHON REQUIREMENTS EXTRA
  if [ "$1" != .venv-tools ]; then
    # Tests and wheel are for the very torch that the program is linked with: lend it instead of a second copy.
    "$2" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$(echo "$1"/lib/python3*/site-packages)/torch.pth"
  fi
  pip_install "$1" -r "$3"
  [ ! -f "$4" ] || pip_install "$1" --no-deps -r "$4"
}

has_driver() { python3 tools/find_torch.py --driver; }

# Without a driver: torch alone, and of CUDA the two small libraries that its CPU part is linked with. The program
# needs no more; pip must not ask for the rest either.
install_torch() { # install_torch REQUIREMENTS
  if has_driver; then
    pip_install .venv -r "$1"
    return
  fi
  say "no NVIDIA driver: torch without CUDA's libraries"
  # The program never imports torch: Python's byte code of it would take another 57 MB.
  pip_install .venv --no-compile --no-deps -r "$1"
  packages=$(echo .venv/lib/python3*/site-packages)
  [ -e "$packages/torch/lib/libtorch_cuda.so" ] || return 0
  pip_install .venv --no-deps -r tools/requirements-cpu.txt
  sed -i '/^Requires-Dist: \(cuda-\|nvidia-\|triton\)/d' "$packages"/torch-*.dist-info/METADATA
}

# The tests import torch: adds to our own .venv what Python needs for that, and stand-ins for CUDA's libraries.
complete_torch() { # complete_torch PYTHON
  [ "$1" = "$PWD/.venv/bin/python" ] && ! has_driver || return 0
  "$1" -W ignore -c 'import torch' 2> /dev/null || {
    pip_install .venv -r tools/requirements.txt
    "$1" tools/cuda_standins.py "$(echo .venv/lib/python3*/site-packages)/torch/lib" > /dev/null
    "$1" -W ignore -c 'import torch'
  }
}

# Prints the interpreter whose torch is built against; makes .venv when there is none.
choose_python() {
  python=$(${COHORT_PYTHON:-python3} -c 'import sys; print(sys.executable)')
  if ! "$python" tools/find_torch.py > /dev/null 2>&1; then
    make_venv .venv "$python" tools/requirements.txt >&2
    python=$PWD/.venv/bin/python
  fi
  echo "$python"
}

write_if_new() { # write_if_new FILE TEXT: leaves the file's time if it has the text
  [ "$(cat "$1" 2> /dev/null)" != "$2" ] || return 0
  mkdir -p "$(dirname "$1")"
  echo "$2" > "$1"
}

install_packages "$(missing_packages)"
case ${1:-} in
  --fuzz) install_packages "$(missing_fuzz_packages)" ;;
  --clusters) install_packages "$(missing_cluster_packages)$(missing_browser_packages)" ;;
  --tools) make_venv .venv-tools "$(command -v python3)" tools/requirements-tools.txt ;;
  --test)
    python=${2:-$(choose_python)}
    complete_torch "$python"
    make_venv .venv-test "$python" tests/python/requirements.txt
    ;;
  --wheel) make_venv .venv-wheel "${2:-$(choose_python)}" tools/requirements-wheel.txt ;;
  *)
    python=$(choose_python)
    say "everything is there; torch is that of $python"
    if [ -n "${1:-}" ]; then
      write_if_new "$1" "$python"
      write_if_new "$(dirname "$1")/torch-device" "$("$python" tools/find_torch.py | tail -n 1)"
    fi
    ;;
esac
