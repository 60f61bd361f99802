#!/bin/bash
# Three operators as one header: two units that include nothing else compile without a warning, and compute
# what Tenon's headers compute, by each compiler that is here.
fail() {
  echo "$@"
  exit 1
}
tool=$PWD/loader/tenon
include=$PWD/include
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder" || exit 1
mkdir one headers
$tool amalgamate Conv Relu MatMul -o one/three.hpp || fail "amalgamate ends with $?"
$tool amalgamate Conv Relu MatMul -o again.hpp && cmp one/three.hpp again.hpp || fail "another header the second time"
cat > headers/three.hpp << 'END'
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/nn/conv.hpp"
END
cat > main.cc << 'END'
#include "three.hpp"
#include "three.hpp"

#include <cstdio>

using namespace tenon;
Tensor<float, Shape<1, 8, 9, 9>> features(TensorView<const float, Shape<1, 3, 9, 9>> x);

int main() {
  Tensor<float, Shape<1, 3, 9, 9>> x;
  for (int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 7 - 1;
  Tensor<float, Shape<9, 5>> b;
  for (int64_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 11) / 3;
  for (float f : op::MatMul{}(features(x), b)) std::printf("%a\n", static_cast<double>(f));
  try {
    op::Relu{}(Tensor<float>(Extents{2}, {1, 2, 3}));
  } catch (const Error& e) {
    std::puts(e.what());
  }
}
END
cat > features.cc << 'END'
#include "three.hpp"

using namespace tenon;
Tensor<float, Shape<1, 8, 9, 9>> features(TensorView<const float, Shape<1, 3, 9, 9>> x) {
  Tensor<float, Shape<8, 3, 3, 3>> w;
  for (int64_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 13) / 5 - 1;
  return op::Relu{}(apply<op::Conv{.pads = {1, 1, 1, 1}}>(x, w));
}
END
# clang 19 warns of what -march=native finds on processors with AVX10.
flags="-std=c++20 -O0 -march=native -Wall -Wextra -Wconversion -Wshadow -Werror -Wno-invalid-feature-combination"
g++ $flags -Iheaders -I"$include" main.cc features.cc -o normal && ./normal > normal.txt || fail "Tenon's headers"
[ "$(wc -l < normal.txt)" -eq 361 ] || fail "$(wc -l < normal.txt) lines"
g++ -std=c++20 -Ione -M features.cc | grep -E 'xsimd|tenon/' && fail "other headers are read"
for compiler in g++ clang++-19; do
  command -v $compiler > /dev/null || continue
  $compiler $flags -Ione main.cc features.cc -o $compiler.out || fail "$compiler"
  ./$compiler.out > $compiler.txt && cmp normal.txt $compiler.txt || fail "$compiler: other results"
done
# A unit for the least level, and one that would need the linked kernels.
g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Ione features.cc || fail "the baseline"
said=$(g++ -std=c++20 -fsyntax-only -DTENON_COMPILED -Ione features.cc 2>&1) && fail "TENON_COMPILED is not refused"
[[ $said == *"compile without TENON_COMPILED"* ]] || fail "$said"

while IFS='|' read -r arguments says; do
  said=$($tool amalgamate $arguments 2>&1) && fail "$arguments is not refused"
  [[ $said == *$says* ]] || fail "$arguments: $said"
done << 'END'
Cnv -o a.hpp|tenon: Cnv: is no operator; near it: Conv
ImageDecoder -o a.hpp|needs other libraries
-o a.hpp|takes operators, and -o
Conv|takes operators, and -o
Conv --all -o a.hpp|no option '--all'
Conv -o none/a.hpp|none/a.hpp
END
exit 0
