#!/bin/bash
# Units that exchange objects of Tenon's link where they agree on its version, on exceptions, on the place of
# kernels and on the instructions. Where they do not, the linker names the functions that each lacks, and in
# them what it was compiled for.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$@"
  exit 1
}
next="$work/next"
mkdir -p "$next/tenon/base"
sed 's/^#define TENON_VERSION_MINOR .*/#define TENON_VERSION_MINOR 999/' include/tenon/base/abi.hpp > "$next/tenon/base/abi.hpp"

compile() {
  g++ -std=c++20 -O0 "$@" -Iinclude -c tests/units/exchange.cc || exit 1
}
# name FLAG…: the name of the inline namespace.
name() {
  echo TENON_ABI_NAME | g++ -std=c++20 "$@" -Iinclude -include tenon/base/abi.hpp -x c++ -E -P - | tail -n 1
}
compile -DUNIT=a -DOTHER=b -DHAS_MAIN -o "$work/a.o"
own=$(name)

# links FLAG…: with a unit of these flags.
links() {
  compile "$@" -DUNIT=b -DOTHER=a -o "$work/b.o"
  said=$(LC_ALL=C g++ "$work/a.o" "$work/b.o" -o "$work/program" 2>&1)
}
links || fail "the same flags: $said"
links -DNDEBUG -O1 || fail "-DNDEBUG: $said"
"$work/program" || fail "-DNDEBUG: ends with $?"

differs() {
  links "$@" && fail "$* links"
  local other
  other=$(name "$@")
  [ "$other" != "$own" ] || fail "$*: no name of its own"
  # Of a function that returns the object the name stands in brackets.
  for lacks in "b\[abi:$own\]()" "b(tenon::$own::Storage const&)" "a\[abi:$other\]()" "a(tenon::$other::Storage const&)"; do
    grep -q "undefined reference to .$lacks" <<< "$said" || fail "$*: lacks $lacks: $said"
  done
}
differs -fno-exceptions
differs -DTENON_COMPILED
differs -DTENON_COMPILED -DTENON_ONLY_LEVEL=baseline
differs -I"$next"
if [ "$(uname -m)" = x86_64 ]; then
  for flags in "-mavx2 -mfma -mf16c" "-march=x86-64-v4 -mavx512vnni"; do
    # shellcheck disable=SC2086  # the flags are words
    differs $flags
  done
fi
