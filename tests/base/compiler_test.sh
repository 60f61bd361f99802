#!/bin/bash
# The headers refuse a compiler that is too old and flags that change arithmetic by one error, before anything
# else and without a page of others after it. Debian's default clang is too old; where it is missing, g++
# pretends to be. The headers are only preprocessed, because nothing is parsed after an inclusion that fails.
headers=(include/tenon/tenon.hpp include/tenon/base/*.hpp include/tenon/base/platform/*.hpp)
# refuses MESSAGE COMMAND…: the command stops at the message and at the inclusion.
refuses() {
  local message=$1 header errors
  shift
  for header in "${headers[@]}"; do
    [[ $header == include/tenon/base/@(abi|target).hpp ]] && continue  # version.hpp includes them after the messages
    errors=$("$@" -std=c++20 -Iinclude -E -o /dev/null -x c++ "$header" 2>&1 | grep 'error: ')
    grep -q "error: .*$message" <<< "$(head -n 1 <<< "$errors")" && [ "$(wc -l <<< "$errors")" -eq 2 ] && continue
    echo "$* $header: $errors"
    exit 1
  done
}
old='Tenon needs \(g++\|clang\) [0-9]* or later'
if command -v clang++-14 > /dev/null; then refuses "$old" clang++-14; else refuses "$old" g++ -D__GNUC__=11; fi

headers=(include/tenon/base/version.hpp include/tenon/tenon.hpp)
for compiler in g++ clang++-19; do
  command -v $compiler > /dev/null || continue
  for flag in -ffast-math -ffinite-math-only -Ofast; do
    refuses 'Tenon computes with NaN, infinities and exact rounding: compile without -ffast-math' $compiler $flag
  done
done
