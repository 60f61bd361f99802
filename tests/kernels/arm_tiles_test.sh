#!/bin/bash
# The innermost loops of products for 64-bit Arm keep their sums in registers. If llvm-mca 19 is installed, its
# models of processors execute at least 85 % of the float products, and 75 % of the products of bytes, that
# they could; of blocks, each of which does twice the work but has to be interleaved, 70 %.
said=$(bench/arm_tiles 2>&1)
status=$?
[ $status -ne 2 ] || { echo "skipped: $said"; exit 0; }
[ $status -eq 0 ] || { echo "$said"; exit 1; }
awk -F ' *[|] *' '
  function fail(what) { print what ": " $0; failed = 1 }
  $4 !~ /^[0-9]+$/ { next }
  {
    found[$2 ", " $3] = 1
    if ($4 != 0) fail("spills")
    for (k = 5; k <= 7; ++k)
      if ($k != "" && $k + 0 < ($3 ~ /blocks/ ? 70 : $3 ~ /^bytes/ ? 75 : 85)) fail("idle")
  }
  END {
    split("baseline, float, packed A;baseline, float, A in place;baseline, double, packed A;" \
          "baseline, bytes as pairs, packed A;baseline, float, convolution;dotprod, bytes, packed A;" \
          "dotprod, bytes, convolution;i8mm, bytes, blocks of packed A;i8mm, bytes, convolution", wanted, ";")
    for (k in wanted) if (!(wanted[k] in found)) { print "no loop: " wanted[k]; failed = 1 }
    exit failed
  }' <<< "$said" || { echo "$said"; exit 1; }
