#!/bin/bash
# A compiler that is too old says so, before anything else and without a page of errors behind it. Debian's default
# clang is one; else g++ pretends.
refuses() {
  local header errors
  for header in include/tenon/tenon.hpp include/tenon/base/*.hpp include/tenon/simd/*.hpp; do
    errors=$("$@" -std=c++20 -Iinclude -fsyntax-only -x c++ "$header" 2>&1 | grep 'error: ')
    grep -q 'error: .*Tenon needs g++ [0-9]* or clang [0-9]*, or later' <<< "$(head -n 1 <<< "$errors")" &&
      [ "$(wc -l <<< "$errors")" -eq 2 ] && continue
    echo "$* $header: $errors"
    exit 1
  done
}
if command -v clang++-14 > /dev/null; then refuses clang++-14; else refuses g++ -D__GNUC__=11; fi
