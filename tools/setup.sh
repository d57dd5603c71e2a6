#!/bin/sh
# Installs what is missing to build Cohort and says what it does. A second run finds everything and installs nothing.
#
#   tools/setup.sh [FILE]            compiler, libraries and LibTorch; writes the path of the Python whose torch is used
#   tools/setup.sh --tools           the pinned formatters and linters, in .venv-tools
#   tools/setup.sh --test [PYTHON]   the reference libraries of the tests, in .venv-test
#   tools/setup.sh --fuzz            the compiler of the fuzz targets
#
# A torch of at least 2.11 that `python3` (or $COHORT_PYTHON) already has is used as it is; otherwise torch goes into
# .venv. pip's own configuration decides where packages come from.
set -eu
cd "$(dirname "$0")/.."

say() { echo "set-up: $*"; }

# One line of Debian package names: those whose command or pkg-config module is missing.
missing_packages() {
  for pair in g++:g++ cmake:cmake ninja:ninja-build ccache:ccache pkg-config:pkg-config; do
    command -v "${pair%%:*}" > /dev/null || printf '%s ' "${pair#*:}"
  done
  for pair in libpcre2-8:libpcre2-dev libutf8proc:libutf8proc-dev nlohmann_json:nlohmann-json3-dev \
    tomlplusplus:libtomlplusplus-dev libtcmalloc_minimal:libgoogle-perftools-dev gtest:libgtest-dev \
    zlib:zlib1g-dev libzstd:libzstd-dev libseccomp:libseccomp-dev \
    libcurl:libcurl4-openssl-dev; do
    pkg-config --exists "${pair%%:*}" 2> /dev/null || printf '%s ' "${pair#*:}"
  done
  # These have no pkg-config files.
  [ -e /usr/include/flint/fmpq.h ] || printf '%s ' libflint-dev
  [ -e /usr/include/acb.h ] || printf '%s ' libflint-arb-dev
  python3 -c 'import ensurepip, venv' 2> /dev/null || printf '%s' 'python3 python3-venv'
}

# The clang that the CMake preset "fuzz" names.
missing_fuzz_packages() {
  command -v clang++-19 > /dev/null || printf '%s' 'clang-19 libclang-rt-19-dev'
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
  DEBIAN_FRONTEND=noninteractive sh -c "$command" > /tmp/cohort-apt-$$.log 2>&1 || {
    tail -20 "/tmp/cohort-apt-$$.log" >&2
    exit 1
  }
  rm -f "/tmp/cohort-apt-$$.log"
}

# make_venv DIR PYTHON REQUIREMENTS: a virtual environment, remade when interpreter or requirements change. Packages of
# which only files are read are in REQUIREMENTS-no-deps.txt: what they depend on would be larger than all else.
make_venv() {
  extra="${3%.txt}-no-deps.txt"
  wanted="python $2
$(cat "$3"; [ ! -f "$extra" ] || cat "$extra")"
  [ "$(cat "$1/cohort-stamp" 2> /dev/null)" != "$wanted" ] || return 0
  say "making $1 with $(tr '\n' ' ' < "$3")(takes a minute or more)"
  "$2" -m venv --clear "$1"
  if [ "$1" = .venv-test ]; then
    # The tests compare with the very torch that the program is linked with: lend it instead of a second copy.
    "$2" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$(echo "$1"/lib/python3*/site-packages)/torch.pth"
  fi
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$3"
  [ ! -f "$extra" ] || "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$extra"
  echo "$wanted" > "$1/cohort-stamp"
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

install_packages "$(missing_packages)"
case ${1:-} in
  --fuzz) install_packages "$(missing_fuzz_packages)" ;;
  --tools) make_venv .venv-tools "$(command -v python3)" tools/requirements-tools.txt ;;
  --test) make_venv .venv-test "${2:-$(choose_python)}" tests/python/requirements.txt ;;
  *)
    python=$(choose_python)
    say "everything is there; torch is that of $python"
    if [ -n "${1:-}" ] && [ "$(cat "$1" 2> /dev/null)" != "$python" ]; then
      mkdir -p "$(dirname "$1")"
      echo "$python" > "$1"
    fi
    ;;
esac
