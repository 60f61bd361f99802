#!/bin/sh
# at_level.sh LEVEL PROGRAM: runs the test PROGRAM with TENON_ARCH=LEVEL, where the processor has that level.
case "$1" in
  avx2) needed="avx2 fma f16c" ;;
  avx512) needed="avx2 fma f16c avx512f avx512bw avx512dq avx512vl" ;;
  *) needed="" ;;
esac
for flag in $needed; do
  if ! grep -q "^flags.* $flag\( \|\$\)" /proc/cpuinfo; then
    echo "skipped: this processor has no $flag"
    exit 0
  fi
done
TENON_ARCH="$1" exec "$2"
