#!/bin/bash
# absent.sh SEALED.a TAG OTHER...: for each function that the kernels of level TAG share with a program, a stub of that
# name for the levels with the tags OTHER, as assembly. A mangled name holds a tag once, with its length before it.
set -eu
sealed=$1 tag=$2
shift 2
echo '.text'
readelf -sW "$sealed" | awk -v own="${#tag}$tag" -v others="$*" '
  BEGIN { count = split(others, other, " ") }
  ($5 == "WEAK" || $5 == "GLOBAL") && $7 != "UND" && $4 == "FUNC" && !seen[$8]++ {
    for (k = 1; k <= count; ++k) {
      name = $8
      if (gsub(own, length(other[k]) other[k], name)) print ".globl " name "\n.type " name ", @function\n" name ":"
    }
  }'
echo 'jmp tenon_absent_kernel'
echo '.section .note.GNU-stack,"",@progbits'
