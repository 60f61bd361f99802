#!/bin/bash
# only_level_test.sh LEVEL TAG FLAG...: a program with the kernels of LEVEL alone (TENON_ONLY_LEVEL), which
# need no sealing, runs at that level, or says that the processor has it not; any other that TENON_ARCH names
# is refused in words.
fail() {
  echo "$@"
  exit 1
}
level=$1 tag=$2
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat > "$folder/main.cc" <<'END'
#include <cstdio>

#include "tenon/kernels/elementwise/half.hpp"

int main() try {
  using namespace tenon;
  simd::check_request();
  const float x[3] = {1, 2.5f, -3};
  bfloat16 y[3];
  kernels::convert_half(x, y, 3);
  std::printf("%s: %g %g %g\n", names(simd::present_levels()).c_str(), double{float(y[0])}, double{float(y[1])},
              double{float(y[2])});
} catch (const tenon::Error& e) {
  std::printf("%s\n", e.what());
}
END
cat > "$folder/kernels.cc" <<END
#define TENON_INSTANTIATE tenon::simd::$tag
#include "tenon/kernels/elementwise/half_impl.hpp"
END
compile() {
  ${CXX:-g++} -std=c++20 -O1 -Wall -Wextra -Werror -Iinclude -DTENON_COMPILED "$@" || fail "$* does not compile"
}
compile -c "$folder/main.cc" "-DTENON_ONLY_LEVEL=$level" -o "$folder/main.o"
compile -c "$folder/kernels.cc" "-DTENON_ONLY_LEVEL=$level" "${@:3}" -o "$folder/kernels.o"
# The linker takes functions of the standard library from the first unit, which every processor can run.
${CXX:-g++} "$folder/main.o" "$folder/kernels.o" -pthread -o "$folder/main" || fail "it does not link"

# A unit that has the choice of level is none of this program's.
compile -c "$folder/main.cc" -o "$folder/other.o"
${CXX:-g++} "$folder/other.o" "$folder/kernels.o" -pthread -o "$folder/other" 2> "$folder/said" && fail "any level links"
grep -q "undefined reference to .*tenon::v[0-9_]*compiled::kernels::convert_half_impl" "$folder/said" || fail "$(cat "$folder/said")"

present=" $(tests/bazel/levels present) "
said=$(env -u TENON_ARCH "$folder/main") || fail "ends with $?"
if [[ $present != *" $level "* ]]; then
  [[ $said == "kernels: this program was built for a level that this processor does not support; it supports: "* ]] || fail "$said"
  exit 0
fi
[ "$said" = "$level: 1 2.5 -3" ] || fail "$said"
[ "$(TENON_ARCH=$level "$folder/main")" = "$said" ] || fail "another result where TENON_ARCH names $level"
for other in baseline avx2 avx512 dotprod i8mm none; do
  [ $other = "$level" ] && continue
  said=$(TENON_ARCH=$other "$folder/main") || fail "$other: ends with $?"
  [ "$said" = "TENON_ARCH: '$other' is not an available level; available: $level" ] || fail "$other: $said"
done
