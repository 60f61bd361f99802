#!/bin/bash
# size_test.sh BYTES FILE: fails when a library has more bytes of code and data than that, as `size -t` wrote
# them to FILE.
bytes=$(awk 'END { print $4 }' "$2")
echo "${bytes:-0} bytes of $1"
[ "${bytes:-0}" -gt 0 ] && [ "$bytes" -le "$1" ]
