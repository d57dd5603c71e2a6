#!/bin/sh
# as_nobody.sh TEST_PROGRAM ARGUMENTS: runs the test program as user 65534, from a copy that this user may read.
set -eu
program=$1
shift
[ "$(id -u)" = 0 ] || exec "$program" "$@"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$program" "$(dirname "$program")/cohort-sandboxd" "$folder"
chmod 755 "$folder" "$folder"/*
PATH=/usr/local/bin:/usr/bin:/bin TMPDIR=/tmp \
  setpriv --reuid=65534 --regid=65534 --clear-groups "$folder/$(basename "$program")" "$@"
