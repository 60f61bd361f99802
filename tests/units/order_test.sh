#!/bin/bash
# order_test.sh PROGRAM…: of a unit for any processor and one for AVX-512, linked in both orders. The first
# runs on a processor without AVX.
if ! command -v qemu-x86_64 > /dev/null; then
  echo "skipped: qemu-x86_64 is not installed"
  exit 0
fi
for program in "$@"; do
  for run in "$program" "qemu-x86_64 -cpu Nehalem $program"; do
    said=$($run 2>&1) || { echo "$run ends with $?: $said"; exit 1; }
    grep -qx "plain 1.0157" <<< "$said" && ! grep -q differs <<< "$said" || { echo "$run: $said"; exit 1; }
  done
done
