#!/bin/bash
# The commands of a tool that is linked with a pack, on a model of the pack's operators; the header that
# `compile` makes of it, built by the compiler alone, gives the bits of `run`.
fail() {
  echo "$@"
  exit 1
}
tool=$PWD/${1:-tests/pack/tool}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder" || exit 1
cat > model.onnxtxt <<'END'
<ir_version: 9, opset_import: ["" : 20, "example.pack" : 2]>
main (float[2,N] x, float[N] g) => (float[2,N] y, float[2] z) <float[2] c = {1, -3}> {
  a = example.pack.Saturate <bias = 2.0> (x)
  y = example.pack.Gate <factor = 2.0> (a, g)
  s = example.pack.Saturate <scale = 8.0> (c)
  z = example.pack.Gate (s)
}
END
# says WORD… : the command ends well and says what the variable `expected` has.
says() {
  said=$($tool "$@" 2>&1) || fail "$* ends with $?: $said"
  [[ $said == *"$expected"* ]] || fail "$*: $said"
}
expected='example.pack.Saturate since 1,2' says ops
expected='example.pack.Gate since 2' says ops
expected='ai.onnx.Mul since 1,6,7,13,14' says ops
expected='<p>Y = factor * X * Saturate(G), where X is its own gate if G is left out.' says ops --html
expected='     2 example.pack.Gate-2' says info model.onnxtxt
expected='memory plan' says info model.onnxtxt
expected='' says check --full model.onnxtxt
[ -z "$said" ] || fail "check: $said"
sed 's/bias/base/' model.onnxtxt > wrong.onnxtxt
said=$($tool check wrong.onnxtxt) && fail "check takes an unknown attribute"
[[ $said == *"the operator has no attribute 'base'"* ]] || fail "check: $said"
expected='value  a: float[2,N]' says infer model.onnxtxt
expected='' says extract model.onnxtxt --inputs a,g --outputs y -o part.onnxtxt  # a's type is not stated
grep -q '(float\[2,N\] a, float\[N\] g) => (float\[2,N\] y)' part.onnxtxt || fail "extract: $(cat part.onnxtxt)"
expected='3 nodes, before 4' says simplify model.onnxtxt -o simple.onnx
expected='' says inline model.onnxtxt --schema-functions --only example.pack:Gate -o inlined.onnxtxt
grep -q 'Mul' inlined.onnxtxt || fail "inline: $(cat inlined.onnxtxt)"
grep -q 'Gate (' inlined.onnxtxt && fail "inline: $(cat inlined.onnxtxt)"
expected='0 differ' says compare model.onnxtxt inlined.onnxtxt
expected='0 differ' says compare model.onnxtxt simple.onnx
expected='0 differ' says compare model.onnxtxt --passes
expected='' says convert model.onnxtxt --opset 17 -o older.onnxtxt
[[ $(cat older.onnxtxt) == *'"" : 17'* ]] || fail "convert: $(cat older.onnxtxt)"
# Recorded conversions are run with the pack, and compared.
mkdir suite
sed 's/factor: float = 2/factor: float = 3/' older.onnxtxt > wrong.onnxtxt
for name in model older wrong; do $tool parse $name.onnxtxt -o suite/$name.onnx || fail "parse $name"; done
for name in older wrong; do
  echo "{\"in\": \"model.onnx\", \"target\": 17, \"out\": \"$name.onnx\", \"verdict\": \"ok\"}" >> suite/index.jsonl
done
said=$($tool convert --suite suite 2> /dev/null) && fail "convert --suite takes another factor"
[[ $said == "FAIL model.onnx: output 0: "*"1 passed, 1 failed" ]] || fail "convert --suite: $said"

# Headers: the operators', and the model's.
expected='' says amalgamate Gate -o gate.hpp
echo '#include "gate.hpp"
int main() { return tenon::op::example_pack::Saturate{}(tenon::Tensor<float, tenon::Shape<1>>{1})[0] == 0.5f ? 0 : 1; }' > gate.cc
${CXX:-g++} -std=c++20 -O0 gate.cc -o gate && ./gate || fail "the operators' header"
cat > main.cc <<'END'
#include <cstdio>

#include "model.hpp"

alignas(64) static float x[6] = {0, 1, -2, 4, -6, 2}, g[3] = {1, -1, 3}, y[6], z[2];
static model::Memory memory;

static void write(const char* name, const char* header, const void* data, std::size_t bytes) {
  std::FILE* const f = std::fopen(name, "wb");
  if (*header != 0) {
    std::fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, f);
    std::fprintf(f, "%-117s\n", header);
  }
  std::fwrite(data, 1, bytes, f);
  std::fclose(f);
}
int main() {
  model::run({x, {2, 3}}, {g, {3}}, {y, {2, 3}}, {z, {2}}, memory);
  write("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", x, sizeof x);
  write("g.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", g, sizeof g);
  write("y.raw", "", y, sizeof y);
  write("z.raw", "", z, sizeof z);
}
END
expected='' says compile model.onnxtxt --level baseline --shape N=3 -o model.hpp
${CXX:-g++} -std=c++20 -O2 -Wall -Wextra -Werror main.cc -o main && ./main || fail "the model's header"
TENON_ARCH=baseline $tool run model.onnxtxt --input x=x.npy --input g=g.npy --output out > said || fail "run: $(cat said)"
for name in y z; do
  cmp $name.raw <(tail -c "$(wc -c < $name.raw)" out/$name.npy) || fail "the model's header gives another $name"
done
