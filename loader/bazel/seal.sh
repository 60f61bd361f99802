#!/bin/bash
# seal.sh IN.a OUT.a TAG: makes each object's weak functions and vtables its own, but for those with TAG in
# their names. The linker keeps one copy of a weak function for the whole program: were that one from an
# object built for AVX-512, code that every processor runs would use AVX-512. Variables stay shared. LD and
# OBJCOPY name another processor's tools.
set -eu
in=$(realpath "$1") out=$(realpath -m "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ar x "$in"
for object in *.o; do
  readelf -sW "$object" |
    awk -v tag="$3" '$5 == "WEAK" && $7 != "UND" && ($4 == "FUNC" || $8 ~ /^_ZTV/) && !index($8, tag) { print $8 }' > private
  [ -s private ] || continue
  "${LD:-ld}" -r --force-group-allocation -o sealed "$object"  # a private symbol cannot be in a group that the linker merges
  # Variables of templates are "unique" symbols, which gold takes for doubles once they are out of their
  # groups. Weak ones are all that an object defines, and not what it asks of others, for which the linker
  # would not open an archive.
  readelf -sW sealed | awk '$5 != "LOCAL" && $7 != "UND" { print $8 }' > defined
  "${OBJCOPY:-objcopy}" --localize-symbols=private --weaken-symbols=defined sealed "$object"
done
ar rcsD "$out" *.o
