#!/bin/bash
# A compiler that is too old says so, before anything else and without a page of errors behind it. Debian's default
# clang is one; else g++ pretends. The headers are only preprocessed: nothing is parsed behind an inclusion that fails.
refuses() {
  local header errors
  for header in include/tenon/tenon.hpp include/tenon/base/*.hpp; do
    errors=$("$@" -std=c++20 -Iinclude -E -o /dev/null -x c++ "$header" 2>&1 | grep 'error: ')
    grep -q 'error: .*Tenon needs g++ [0-9]* or clang [0-9]*, or later' <<< "$(head -n 1 <<< "$errors")" &&
      [ "$(wc -l <<< "$errors")" -eq 2 ] && continue
    echo "$* $header: $errors"
    exit 1
  done
}
if command -v clang++-14 > /dev/null; then refuses clang++-14; else refuses g++ -D__GNUC__=11; fi
