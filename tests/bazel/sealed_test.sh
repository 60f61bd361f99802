#!/bin/bash
# sealed_test.sh TAG LIBRARY: every function and vtable that the library's objects share with the rest of a
# program bears TAG in its name; see loader/bazel/seal.sh.
shared=$(readelf -sW "$2" |
  awk '($5 == "WEAK" || $5 == "GLOBAL") && $7 != "UND" && ($4 == "FUNC" || $8 ~ /^_ZTV/) { print $8 }')
[ -n "$shared" ] || { echo "$2 defines nothing"; exit 1; }
leaks=$(grep -v "$1" <<< "$shared")
[ -z "$leaks" ] || { c++filt <<< "$leaks"; exit 1; }
