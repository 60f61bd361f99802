#!/bin/bash
# only_level_test.sh LEVEL KERNELS TAG OTHER_TAG...: a program with the kernels of LEVEL alone, as --//loader:level makes
# it, runs at that level, or says that the processor has it not; any other that TENON_ARCH names is refused in words.
fail() {
  echo "$@"
  exit 1
}
level=$1 kernels=$2
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat > "$folder/main.cc" <<'END'
#include <cstdio>

#include "tenon/kernels/gemm/gemm.hpp"

int main() try {
  using namespace tenon;
  simd::check_request();
  float a[6] = {1, 2, 3, 4, 5, 6}, c[4];
  kernels::GemmArgs<float> g;
  g.m = g.n = 2, g.k = 3, g.a = a, g.a_row = 3, g.b = a, g.b_row = 2, g.c = c, g.c_row = 2;
  kernels::gemm(g);
  std::printf("%s: %g %g %g %g\n", names(simd::present_levels()).c_str(), double{c[0]}, double{c[1]},
              double{c[2]}, double{c[3]});
} catch (const tenon::Error& e) {
  std::printf("%s\n", e.what());
}
END
loader/bazel/absent.sh "${@:2}" > "$folder/stubs.s" || fail "absent.sh ends with $?"
flags=(-std=c++20 -O1 -Wall -Wextra -Werror -Iinclude -DTENON_COMPILED "-DTENON_ONLY_LEVEL=$level")
for source in "$folder/main.cc" loader/bazel/absent.cc "$folder/stubs.s"; do
  name=${source##*/}
  ${CXX:-g++} "${flags[@]}" -c "$source" -o "$folder/${name%.*}.o" || fail "$name does not compile"
done
ar rcs "$folder/absent.a" "$folder/absent.o" "$folder/stubs.o"
${CXX:-g++} "$folder/main.o" "$kernels" "$folder/absent.a" -pthread -o "$folder/main" || fail "it does not link"

present=" $(tests/bazel/levels present) "
said=$(env -u TENON_ARCH "$folder/main") || fail "ends with $?"
if [[ $present != *" $level "* ]]; then
  [[ $said == "kernels: this program was built for a level that the processor has not; it has: "* ]] || fail "$said"
  exit 0
fi
[ "$said" = "$level: 22 28 49 64" ] || fail "$said"
[ "$(TENON_ARCH=$level "$folder/main")" = "$said" ] || fail "another result where TENON_ARCH names $level"
for other in baseline avx2 avx512 none; do
  [ $other = "$level" ] && continue
  said=$(TENON_ARCH=$other "$folder/main") || fail "$other: ends with $?"
  [ "$said" = "TENON_ARCH: '$other' is none of the levels present: $level" ] || fail "$other: $said"
done
