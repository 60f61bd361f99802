#!/bin/bash
# The headers as compilers see them that are not built with here, by clang and by syntax alone.
#   other_compilers_test.sh libcxx       with LLVM's standard library
#   other_compilers_test.sh visual_cpp   with Visual C++'s branches; g++'s constructs are in base/platform/ and simd/ alone
skip() {
  echo "skipped: $*"
  exit 0
}
if [ "$1" = visual_cpp ]; then
  found=$(grep -rnE --include='*.hpp' '^([^"/]|/[^/])*\b(__builtin_\w+|__attribute__|__int128|vector_size|asm)\b' include/tenon |
    grep -vE '^include/tenon/(base/platform|simd)/')
  [ -z "$found" ] || { echo "$found"; exit 1; }
fi
command -v clang++-19 > /dev/null || skip "clang-19 is not installed"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
flags=(-std=c++20 -O2 -mavx2 -mfma -mf16c -pthread -Wall -Wextra -Wgnu -Werror -Iinclude)
case $1 in
  libcxx)
    flags+=(-stdlib=libc++)
    printf '#include <version>\n' > "$folder/library.cc"
    clang++-19 "${flags[@]}" -fsyntax-only "$folder/library.cc" 2> /dev/null || skip "libc++ is not installed"
    ;;
  visual_cpp)
    # Its header of intrinsics has these, too.
    printf '%s\n' '#include <x86intrin.h>' 'extern "C" void _ReadWriteBarrier();' \
      'extern "C" void __cpuidex(int*, int, int);' > "$folder/intrin.h"
    flags+=(-fms-extensions -DTENON_VISUAL_CPP -Wno-unknown-attributes -isystem "$folder")
    ;;
esac
for header in tenon array generate training; do
  printf '#include "tenon/%s.hpp"\n' $header
done > "$folder/headers.cc"
clang++-19 "${flags[@]}" -fsyntax-only "$folder/headers.cc"
