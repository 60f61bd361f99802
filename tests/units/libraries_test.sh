#!/bin/bash
# Libraries of one process that each have Tenon in them, with their symbols hidden: linked with the program
# and loaded by it, and one of them with equal functions and constants folded.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  g++ -std=c++20 -O0 -Iinclude -I. "$@" || exit 1
}
compile -c -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections tests/units/library.cc -o "$work/library.o"
compile -c tests/units/libraries.cc -o "$work/libraries.o"
cd "$work" || exit 1
g++ -shared library.o -o one.so && g++ -shared library.o -o two.so || exit 1
folded=()
for linker in gold lld; do
  command -v ld.$linker > /dev/null || continue
  g++ -shared -fuse-ld=$linker -Wl,--icf=all library.o -o folded_$linker.so || exit 1
  folded+=(./folded_$linker.so)
done
[ ${#folded[@]} -gt 0 ] || echo "skipped: no linker folds equal functions"
g++ libraries.o -o loads || exit 1
g++ libraries.o -o linked -Wl,--no-as-needed,-rpath,. ./one.so ./two.so || exit 1
for second in ./two.so "${folded[@]}"; do
  ./loads ./one.so $second || { echo "loaded: one.so, $second"; exit 1; }
done
./linked ./one.so ./two.so || { echo "linked"; exit 1; }
