#!/bin/bash
# The headers work without exceptions and type information: they compile, compute, and end each error in the
# program's TENON_ABORT, or else in a message and an abort. With exceptions one header throws and one catches.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$@"
  exit 1
}

found=$(grep -rnE --include='*.hpp' '^([^"/]|/[^/])*\b(throw|try|catch|dynamic_cast|typeid)\b' include/tenon |
  grep -vE '^include/tenon/base/(error|platform/exceptions)\.hpp:')
[ -z "$found" ] || fail "$found"

cat > "$work/index.cc" <<'END'
#include "tenon/tensor/tensor.hpp"
int main() { tenon::Tensor<float>({2}, {1, 2})(5); }
END

for compiler in g++ clang++-19; do
  command -v $compiler > /dev/null || continue
  build() {
    $compiler -std=c++20 -O0 -Wall -Wextra -Werror -fno-exceptions -fno-rtti -Iinclude -pthread "$1" -o "$2" ||
      fail "$compiler $1"
  }
  build tests/units/without_exceptions.cc "$work/program"
  # ends CASE STATUS TEXT
  ends() {
    local said
    said=$("$work/program" "$1" 2>&1)
    [ "$? $said" = "$2 $3" ] || fail "$compiler: $1: $said"
  }
  ends compute 0 "[[ 7.0, 10.0],
 [15.0, 22.0]]
[2.0, 5.0]
[[0.0, 6.0]]
1040"
  ends extents 3 "2 Add: extents (2) and (3) do not broadcast [A: tensor(float) (2), B: tensor(float) (3)]"
  ends index 3 "5 index 5 outside of axis 0 of extents (2)"
  ends session 3 "0 session: there is no input 'z'"
  ends memory 3 "6 out of memory"
  ends csv 3 "0 Cast: 'x' is no float"

  build "$work/index.cc" "$work/index"
  said=$( ("$work/index") 2>&1)
  [ "$? $said" = "134 tenon: index 5 outside of axis 0 of extents (2)" ] || fail "$compiler: $said"
done
