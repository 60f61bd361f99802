#!/bin/bash
# All of C++ is as clang-format writes it.
if ! command -v clang-format-19 > /dev/null; then
  echo "skipped: clang-format-19 is not installed"
  exit 0
fi
find -L include loader tests bench examples -name '*.cc' -o -name '*.hpp' | xargs clang-format-19 --dry-run -Werror
