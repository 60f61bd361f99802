#!/bin/bash
# Models compiled for another machine: its compiler builds the headers, an emulator runs them, and the results
# equal this machine's but for the rounding of sums.
#   target_test.sh aarch64 | wasm32 | wasm32:relaxed    by a cross compiler, and qemu or node
#   target_test.sh                                      what this machine runs, and what is refused
fail() {
  echo "$@"
  exit 1
}
skip() {
  echo "skipped: $*"
  exit 0
}
tool=loader/tenon
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
target=$1
case $target in
  aarch64)
    for compiler in aarch64-linux-gnu-g++ aarch64-linux-gnu-g++-12 none; do
      command -v $compiler > /dev/null && break
    done
    [ $compiler != none ] || skip "no compiler for aarch64 is installed"
    command -v qemu-aarch64 > /dev/null || skip "qemu-aarch64 is not installed"
    build() { $compiler -static "$@"; }
    run() { qemu-aarch64 "$@"; }
    ;;
  wasm32 | wasm32:relaxed)
    command -v clang++-19 > /dev/null || skip "clang-19 is not installed"
    command -v node > /dev/null || skip "node is not installed"
    build() { clang++-19 --target=wasm32-wasi -fuse-ld=lld -fno-exceptions "$@"; }
    printf '#include <algorithm>\nint main() {}\n' > "$folder/none.cc"
    build "$folder/none.cc" -o "$folder/none" 2> /dev/null || skip "no library for wasm32-wasi is installed"
    options=(--no-warnings)
    if [ "$target" = wasm32:relaxed ]; then
      relaxed=$(node bench/relaxed.mjs) || skip "node has no relaxed SIMD"
      [ -z "$relaxed" ] || options+=("$relaxed")
    fi
    run() { node "${options[@]}" --experimental-wasi-unstable-preview1 tests/wasi.mjs "$@"; }
    ;;
esac

numbers() { awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); for (k = 0; k < n; ++k) printf "%s%.5f", k ? "," : "", rand() - 0.5 }'; }
integers() { awk -v n="$1" -v low="$2" -v high="$3" 'BEGIN { for (k = 0; k < n; ++k) printf "%s%d", k ? "," : "", low + k * 37 % (high - low + 1) }'; }

# Every kind of constant that is laid out for kernels: of products, of convolutions (in blocks of channels, for
# Winograd's tiles, of groups, transposed), of recurrent layers, of integers, and of narrow numbers.
cat > "$folder/product.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 21]>
product (float[9,70] x) => (float[9,45] y) <float[70,90] w = {$(numbers 6300 1)}, float[90,45] v = {$(numbers 4050 2)}> {
  a = MatMul (x, w)
  b = Tanh (a)
  y = MatMul (b, v)
}
END
cat > "$folder/convolution.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 21]>
convolution (float[1,3,30,26] x) => (float[1,5,31,27] y) <
  float[32,3,3,3] w = {$(numbers 864 1)}, float[32,32,3,3] v = {$(numbers 9216 2)}, float[32,1,3,3] u = {$(numbers 288 3)},
  float[32,8,1,1] g = {$(numbers 256 4)}, float[32,5,2,2] t = {$(numbers 640 5)}
> {
  a = Conv <pads = [1, 1, 1, 1]> (x, w)
  b = Relu (a)
  c = Conv <pads = [1, 1, 1, 1]> (b, v)
  d = Conv <pads = [1, 1, 1, 1], group = 32> (c, u)
  e = Conv <group = 4> (d, g)
  f = Add (e, b)
  y = ConvTranspose (f, t)
}
END
cat > "$folder/recurrent.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 22]>
recurrent (float[12,4,8] x) => (float[2,4,16] y) <
  float[1,64,8] w = {$(numbers 512 1)}, float[1,64,16] r = {$(numbers 1024 2)},
  float[2,48,16] w2 = {$(numbers 1536 4)}, float[2,48,16] r2 = {$(numbers 1536 5)}
> {
  u = LSTM <hidden_size = 16> (x, w, r)
  one = Constant <value_ints = [1]> ()
  s = Squeeze (u, one)
  , y = GRU <hidden_size = 16, direction = "bidirectional"> (s, w2, r2)
}
END
cat > "$folder/bytes.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 21]>
bytes (float[1,64,5,5] x) => (float[1,10] y) <
  float scale = {0.1}, uint8 zero = {128}, float[64] scales = {$(awk 'BEGIN { for (k = 0; k < 64; ++k) printf "%s0.02", k ? "," : "" }')},
  int8[64,64,3,3] w = {$(integers 36864 -127 127)}, int8[64,1,3,3] u = {$(integers 576 -127 127)},
  int8[1600,10] v = {$(integers 16000 -127 127)}, float hundredth = {0.001}
> {
  q = QuantizeLinear (x, scale, zero)
  d = DequantizeLinear (q, scale, zero)
  e = DequantizeLinear <axis = 0> (w, scales)
  c = Conv <pads = [1, 1, 1, 1]> (d, e)
  r = QuantizeLinear (c, scale, zero)
  f = DequantizeLinear (r, scale, zero)
  h = DequantizeLinear <axis = 0> (u, scales)
  i = Conv <pads = [1, 1, 1, 1], group = 64> (f, h)
  j = QuantizeLinear (i, scale, zero)
  k = DequantizeLinear (j, scale, zero)
  l = Flatten (k)
  m = DequantizeLinear (v, hundredth)
  y = MatMul (l, m)
}
END

# Matrices of 4 bits, 8 bits and halves, which kernels widen.
cat > "$folder/narrow.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
narrow (float[1,64] x) => (float[5,20] y) <
  uint8[70,2,16] c = {$(integers 2240 0 255)}, float[140] s = {$(numbers 140 1)}, int8[70,45] w = {$(integers 3150 -127 127)},
  float hundredth = {0.01}, float tenth = {0.1}, float[45,20] v = {$(numbers 900 2)}, int64[2] five = {5, 45}
> {
  a = com.microsoft.MatMulNBits <K = 64, N = 70, block_size = 32, bits = 4> (x, c, s)
  b = Tanh (a)
  d = DequantizeLinear (w, hundredth)
  e = MatMul (b, d)
  f = Tanh (e)
  g = Expand (f, five)
  h = Cast <to = 10> (g)
  i = Cast <to = 10> (v)
  j = MatMul (h, i)
  k = Cast <to = 1> (j)
  y = Mul (k, tenth)
}
END

# check MODEL TARGET: the program of the model's header gives what the tool gives here.
check() {
  local model=$1 flags count
  $tool run "$folder/$model.onnxtxt" --keep x --output "$folder/$model" > "$folder/said" || fail "run $model: $(cat "$folder/said")"
  $tool compile "$folder/$model.onnxtxt" --target "$2" -o "$folder/$model.hpp" || fail "$model for $2"
  cat > "$folder/$model.cc" <<END
#include "$model.hpp"

#include <cstdio>

template <class X, class Y>
bool call(void (*run)(X, Y, $model::Memory&) noexcept) {
  static $model::Memory memory;
  alignas(64) static float x[4096], y[8192];
  const std::size_t n = std::fread(x, sizeof(float), 4096, stdin);
  const X in{&x[0]};
  const Y out{&y[0]};
  if (n != static_cast<std::size_t>(in.size())) return false;
  run(in, out, memory);
  return std::fwrite(y, sizeof(float), static_cast<std::size_t>(out.size()), stdout) > 0;
}
int main() { return call($model::run) ? 0 : 1; }
END
  flags=$(sed -nE '2s/^.* (-std=c\+\+20)/\1/p' "$folder/$model.hpp")
  # shellcheck disable=SC2086  # the flags are words
  (cd "$folder" && build $flags -O1 -Wall -Wextra -Werror "$model.cc" -o "$model.exe") || fail "$model is not built for $2"
  tail -c +129 "$folder/$model/x.npy" | run "$folder/$model.exe" > "$folder/$model.raw" || fail "$model for $2 ends with $?"
  count=$(($(wc -c < "$folder/$model.raw") / 4))
  [ "$count" -gt 0 ] || fail "$model for $2 writes nothing"
  paste <(od -An -v -t f4 -w4 "$folder/$model.raw") <(tail -c $((4 * count)) "$folder/$model/y.npy" | od -An -v -t f4 -w4) |
    awk '{ d = $1 - $2; if (d < 0) d = -d; a = $2 < 0 ? -$2 : $2; if (!(d <= 1e-4 * (1 + a))) { print NR, $0; bad = 1; exit } }
         END { exit bad }' || fail "$model differs for $2"
}
models=(product convolution recurrent bytes narrow)

if [ -n "$target" ]; then
  said=$($tool compile examples/digits/digits.onnx --target "$target" --shape batch=1 -o "$folder/digits.hpp" 2>&1) || {
    [[ $said == *"this build has the kernels of one level alone"* ]] && skip "the build has the kernels of one level alone"
    fail "digits for $target: $said"
  }
  cp examples/digits/compiled.cc "$folder"
  flags=$(sed -nE '2s/^.* (-std=c\+\+20)/\1/p' "$folder/digits.hpp")
  # shellcheck disable=SC2086  # the flags are words
  build $flags -I"$folder" "$folder/compiled.cc" -o "$folder/compiled" || fail "digits is not built for $target"
  said=$(run "$folder/compiled" "$PWD/examples/digits/images.npy" "$PWD/examples/digits/labels.npy") || fail "digits ends with $?"
  [[ $said == "396 of 400 digits are right"* ]] || fail "digits for $target: $said"
  for model in "${models[@]}"; do check "$model" "$target"; done

  # A header for another family is refused here.
  said=$(${CXX:-g++} -std=c++20 -fsyntax-only -I"$folder" "$folder/product.cc" 2>&1)
  [ "$(uname -m)" != x86_64 ] || [[ $said == *"its constants are packed for 32 registers of 16 bytes"* ]] ||
    [[ $said == *"this header needs"* ]] || fail "compiled here, a header for $target says: $said"
  exit 0
fi

# The bytes of a header do not depend on what memory held before.
for model in "${models[@]}"; do
  MALLOC_PERTURB_=1 $tool compile "$folder/$model.onnxtxt" -o "$folder/one.hpp" --namespace model &&
    MALLOC_PERTURB_=2 $tool compile "$folder/$model.onnxtxt" -o "$folder/two.hpp" --namespace model || fail "$model"
  cmp "$folder/one.hpp" "$folder/two.hpp" || fail "$model: memory that was not written is in the header"
done

# Every level of this family that the processor has, whatever is in force: the header is the level's.
said=$($tool --version) || fail "--version ends with $?"
levels=$(sed -nE 's/^levels: (.*) \(.*$/\1/p' <<< "$said")
build() { ${CXX:-g++} "$@"; }
run() { "$@"; }
constants() { sed -n '/^namespace constants {/,/^}  \/\/ namespace constants/p' "$1"; }
family=$(uname -m)
family=${family/_/-}
if [[ $family == @(x86-64|aarch64) ]]; then
  for level in ${levels//,/}; do
    for model in product bytes narrow; do
      $tool compile "$folder/$model.onnxtxt" --target "$family:$level" -o "$folder/target.hpp" || fail "$model for $family:$level"
      $tool compile "$folder/$model.onnxtxt" --level "$level" --namespace target -o "$folder/level.hpp" || fail "$model at $level"
      cmp <(constants "$folder/target.hpp") <(constants "$folder/level.hpp") ||
        fail "$model for $family:$level has other constants than at the level"
      [ "$(constants "$folder/target.hpp" | wc -c)" -gt 4096 ] || fail "$model for $family:$level has no constants"
    done
  done
  for model in "${models[@]}"; do check "$model" "$family:${levels##* }"; done
fi

refused() {
  local status
  said=$($tool compile "$folder/product.onnxtxt" "$@" -o "$folder/none.hpp" 2>&1)
  status=$?
  [ $status -eq 1 ] || [ $status -eq 2 ] || fail "'$*' ends with $status: $said"
  [ ! -e "$folder/none.hpp" ] || fail "'$*' wrote a header"
}
says() { [[ $said == *"$1"* ]] || fail "'$1' is not in: $said"; }
refused --target riscv
says "'riscv' is no target; targets: aarch64, aarch64:LEVEL, wasm32, wasm32:relaxed, x86-64, x86-64:LEVEL"
refused --target aarch64:sve
[ "$family" = aarch64 ] || says "the levels of aarch64 on a machine of another family are baseline"
[ "$family" != aarch64 ] || says "the levels of aarch64 are baseline, dotprod, i8mm"
refused --target x86-64:avx1024
says "x86-64:avx1024"
refused --target aarch64 --level baseline
says "--target states the level too"
exit 0
