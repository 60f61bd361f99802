#!/bin/bash
# The page of examples/browser reads the digits that are drawn with the mouse of a headless Chromium. Skipped
# where it cannot be built or shown.
fail() {
  echo "$@"
  exit 1
}
skip() {
  echo "skipped: $*"
  exit 0
}
for program in clang++-19 node chromium; do
  command -v $program > /dev/null || skip "$program is not installed"
done
export TENON_TOOL=loader/tenon
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
printf '#include <algorithm>\nint main() {}\n' > "$folder/none.cc"
clang++-19 --target=wasm32-wasi -fuse-ld=lld -fno-exceptions "$folder/none.cc" -o "$folder/none" 2> /dev/null ||
  skip "no library for wasm32-wasi is installed"

said=$(examples/browser/build "$folder" 2>&1) || {
  [[ $said == *"this build has the kernels of one level alone"* ]] && skip "the build has the kernels of one level alone"
  fail "$said"
}
size=$(wc -c < "$folder/digits.wasm")
[ "$size" -le 200000 ] || fail "the module has $size bytes"
node tests/examples/browser.mjs "$folder" examples/digits/images.npy examples/digits/labels.npy || fail "the page fails"
