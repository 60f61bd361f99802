#!/bin/bash
# Models compiled to headers: built by g++ alone, at each level of the machine, they give the bits that the tool gives,
# and ask for neither heap nor exceptions. Four models live in one source; constants may lie in a file; extents give
# overloads; what has no form in a header is listed.
#   compile_test.sh LEVEL    four models in one source, at this level
#   compile_test.sh          everything else, at the greatest level of the machine
fail() {
  echo "$@"
  exit 1
}
tool=loader/tenon
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# A network of four layers of 16.
numbers() { awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); for (k = 0; k < n; ++k) printf "%s%.5f", k ? "," : "", rand() - 0.5 }'; }
{
  echo '<ir_version: 10, opset_import: ["" : 21]>'
  echo 'mlp (float[1,16] x) => (float[1,16] y) <'
  for k in 0 1 2 3; do
    echo "float[16,16] w$k = {$(numbers 256 $k)}, float[16] b$k = {$(numbers 16 1$k)}$([ $k = 3 ] || echo ,)"
  done
  echo '> {'
  for k in 0 1 2; do
    echo "g$k = Gemm <transB = $((k % 2))> ($([ $k = 0 ] && echo x || echo r$((k - 1))), w$k, b$k)"
    echo "r$k = Relu (g$k)"
  done
  echo 'y = Gemm (r2, w3, b3)'
  echo '}'
} > "$folder/mlp.onnxtxt"

# Recurrent layers and a transposed convolution, whose weights are laid out for their kernels.
cat > "$folder/rnn.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 22]>
rnn (float[12,4,8] s) => (float[12,1,4,16] u, float[2,4,16] h, float[2,4,34] v) <
  float[1,64,8] w = {$(numbers 512 1)}, float[1,64,16] r = {$(numbers 1024 2)}, float[1,48] p = {$(numbers 48 3)},
  float[2,48,8] w2 = {$(numbers 768 4)}, float[2,48,16] r2 = {$(numbers 1536 5)}, float[2,96] b2 = {$(numbers 192 6)},
  float[1,4,16] zero = {$(numbers 64 7)}, float[4,4,4] w3 = {$(numbers 64 8)}
> {
  u = LSTM <hidden_size = 16> (s, w, r, , , zero, zero, p)
  , h = GRU <hidden_size = 16, direction = "bidirectional", linear_before_reset = 1, activations =
    ["Sigmoid", "Tanh", "HardSigmoid", "Affine"], activation_alpha = [0.3, 0.5]> (s, w2, r2, b2)
  v = ConvTranspose <strides = [2]> (h, w3)
}
END

# Products with matrices of 4 and of 8 bits, which stay so: of a vector, and of many rows.
integers() { awk -v n="$1" -v low="$2" -v high="$3" 'BEGIN { for (k = 0; k < n; ++k) printf "%s%d", k ? "," : "", low + k * 37 % (high - low + 1) }'; }
cat > "$folder/narrow.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
narrow (float[1,64] n) => (float[1,45] p, float[20,45] q) <
  uint8[70,2,16] c = {$(integers 2240 0 255)}, float[140] s = {$(numbers 140 1)}, uint8[70,1] zero = {$(integers 70 0 255)},
  int8[70,45] w = {$(integers 3150 -127 127)}, float hundredth = {0.01}, float[20,1] factors = {$(numbers 20 2)}
> {
  m = Mul (n, factors)
  a = com.microsoft.MatMulNBits <K = 64, N = 70, block_size = 32, bits = 4> (n, c, s, zero)
  d = DequantizeLinear (w, hundredth)
  p = MatMul (a, d)
  b = com.microsoft.MatMulNBits <K = 64, N = 70, block_size = 32, bits = 4> (m, c, s)
  q = MatMul (b, d)
}
END

cat > "$folder/main.cc" <<'END'
#include <cstdio>
#include <cstdlib>

#include "digits.hpp"
#ifdef WEIGHTS
alignas(64) static std::byte weights[digits::weights_bytes];
#else
// One unit includes several.
#include "mlp.hpp"
#include "narrow.hpp"
#include "rnn.hpp"

static mlp::Memory mlp_memory;
static rnn::Memory rnn_memory;
static narrow::Memory narrow_memory;
alignas(64) static float x[16], y[16], s[384], u[768], h[128], v[272];
alignas(64) static float n[64], p[45], q[900];
#endif

static digits::Memory digits_memory;
alignas(64) static float one[10], two[20];
alignas(64) static unsigned char images[2 * 64];

template <int n>
static digits::TensorView<const unsigned char, digits::Shape<n, 8, 8>> image() {
  return {images, {n, 8, 8}};
}
template <int n>
static digits::TensorView<float, digits::Shape<n, 10>> probability(float* p) {
  return {p, {n, 10}};
}

static void write_npy(const char* name, const char* type, const char* shape, const void* data, std::size_t bytes) {
  char header[129];
  std::snprintf(header, sizeof header, "\x93NUMPY\x01%c\x76%c{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", 0, 0, type, shape);
  std::FILE* const f = std::fopen(name, "wb");
  std::size_t n = 10;
  while (header[n] != 0) ++n;
  std::fwrite(header, 1, n, f);
  for (; n < 127; ++n) std::fputc(' ', f);
  std::fputc('\n', f);
  std::fwrite(data, 1, bytes, f);
  std::fclose(f);
}
static void write(const char* name, const void* data, std::size_t bytes) {
  std::FILE* const f = std::fopen(name, "wb");
  std::fwrite(data, 1, bytes, f);
  std::fclose(f);
}

int main() {
  for (int k = 0; k < 128; ++k) images[k] = static_cast<unsigned char>(k * 7 % 17);
  write_npy("one.npy", "|u1", "1, 8, 8", images, 64);
  write_npy("two.npy", "|u1", "2, 8, 8", images, 128);
#ifdef WEIGHTS
  // Two overloads.
  std::FILE* const f = std::fopen("digits.bin", "rb");
  if (f == nullptr || std::fread(weights, 1, sizeof weights, f) != sizeof weights) return 1;
  std::fclose(f);
  digits::run(image<1>(), probability<1>(one), digits_memory, weights);
  digits::run(image<2>(), probability<2>(two), digits_memory, weights);
#else
  for (int k = 0; k < 16; ++k) x[k] = 0.1f * static_cast<float>(k - 8);
  write_npy("x.npy", "<f4", "1, 16", x, sizeof x);
  for (int k = 0; k < 384; ++k) s[k] = 0.05f * static_cast<float>(k % 37 - 18);
  write_npy("s.npy", "<f4", "12, 4, 8", s, sizeof s);
  for (int k = 0; k < 64; ++k) n[k] = 0.02f * static_cast<float>(k * 7 % 101 - 50);
  write_npy("n.npy", "<f4", "1, 64", n, sizeof n);
  mlp::run({x, {1, 16}}, {y, {1, 16}}, mlp_memory);
  rnn::run({s, {12, 4, 8}}, {u, {12, 1, 4, 16}}, {h, {2, 4, 16}}, {v, {2, 4, 34}}, rnn_memory);
  narrow::run({n, {1, 64}}, {p, {1, 45}}, {q, {20, 45}}, narrow_memory);
  digits::run(image<1>(), probability<1>(one), digits_memory);
  write("y.raw", y, sizeof y);
  write("u.raw", u, sizeof u);
  write("h.raw", h, sizeof h);
  write("v.raw", v, sizeof v);
  write("p.raw", p, sizeof p);
  write("q.raw", q, sizeof q);
#endif
  write("one.raw", one, sizeof one);
  write("two.raw", two, sizeof two);
}
END

# expect MODEL INPUT FILE OUTPUT FILE: the program's FILE.raw is what the tool gives for FILE.npy, whose last bytes it has.
expect() {
  TENON_ARCH=$level $tool run "$1" --input "$2=$folder/$3.npy" --output "$folder/out" > "$folder/said" || fail "run $1 at $level"
  cmp "$folder/$5.raw" <(tail -c "$(wc -c < "$folder/$5.raw")" "$folder/out/$4.npy") || fail "$1 differs at level $level"
}
build() {
  local flags
  flags=$(sed -n '2s/^\/\/ *g++//p' "$folder/$1.hpp")
  (cd "$folder" && ${CXX:-g++} $flags -Wall -Wextra -Werror "${@:2}" main.cc -o main && ./main) || fail "main.cc at level $level"
}
said=$($tool --version) || fail "--version ends with $?"
levels=$(sed -nE 's/^levels: (.*) \(.*$/\1/p' <<< "$said")
[ -n "$levels" ] || fail "no levels: $said"
level=${1:-${levels##* }}
if [ $# -gt 0 ]; then
  if [[ ", $levels, " != *", $level, "* ]]; then
    echo "skipped: level $level wanted, the processor has $levels"
    exit 0
  fi
  echo "level: $level"
  $tool compile "$folder/mlp.onnxtxt" --level "$level" -o "$folder/mlp.hpp" || fail "mlp at $level"
  $tool compile examples/digits/digits.onnx --level "$level" --shape batch=1 -o "$folder/digits.hpp" || fail "digits at $level"
  $tool compile "$folder/rnn.onnxtxt" --level "$level" -o "$folder/rnn.hpp" || fail "rnn at $level"
  $tool compile "$folder/narrow.onnxtxt" --level "$level" -o "$folder/narrow.hpp" || fail "narrow at $level"
  build narrow  # with the instructions that integers take
  nm -u "$folder/main" | grep -E ' (_Zn[wa]|_Zd[la]|malloc|free|calloc|__cxa_throw|__cxa_allocate)' && fail "the program has a heap or exceptions"
  expect "$folder/mlp.onnxtxt" x x y y
  expect examples/digits/digits.onnx image one probability one
  expect "$folder/rnn.onnxtxt" s s u u
  expect "$folder/rnn.onnxtxt" s s h h
  expect "$folder/rnn.onnxtxt" s s v v
  expect "$folder/narrow.onnxtxt" n n p p
  expect "$folder/narrow.onnxtxt" n n q q

  # The same again is the same text; a header is for its level alone.
  cp "$folder/digits.hpp" "$folder/again.hpp"
  $tool compile examples/digits/digits.onnx --shape batch=1 --namespace digits --level "$level" -o "$folder/digits.hpp"
  cmp "$folder/digits.hpp" "$folder/again.hpp" || fail "two texts of one model differ"
  if [ "$level" != baseline ]; then
    said=$(cd "$folder" && ${CXX:-g++} -std=c++20 -fsyntax-only main.cc 2>&1) && fail "a header of $level compiles without its flags"
    [[ $said == *"this header needs"* ]] || fail "$said"
  fi
  exit 0
fi

# Constants in a file, and two overloads.
$tool compile examples/digits/digits.onnx --level "$level" --shape batch=1 --shape batch=2 --weights "$folder/digits.bin" -o "$folder/digits.hpp" ||
  fail "--weights"
build digits -DWEIGHTS
expect examples/digits/digits.onnx image one probability one
expect examples/digits/digits.onnx image two probability two

# A model without arithmetic, in which an operator converts from a type that no value has.
cat > "$folder/turn.onnxtxt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
turn (int32[2,3] x) => (int32[3,2] y, int32[2,3] e) { y = Transpose (x)  e = EyeLike (x) }
END
cat > "$folder/turn.cc" <<'END'
#include "turn.hpp"

#include <cstdio>

int main() {
  static turn::Memory memory;
  alignas(64) static std::int32_t x[6] = {1, 2, 3, 4, 5, 6}, y[6], e[6];
  turn::run({x, {2, 3}}, {y, {3, 2}}, {e, {2, 3}}, memory);
  for (int k = 0; k < 6; ++k) std::printf("%d%d ", y[k], e[k]);
}
END
$tool compile "$folder/turn.onnxtxt" --level baseline -o "$folder/turn.hpp" || fail "turn"
said=$(cd "$folder" && ${CXX:-g++} -std=c++20 -O2 -Wall -Wextra -Werror turn.cc -o turn && ./turn)
[ "$said" = "11 40 20 50 31 60 " ] || fail "turn gives $said"
# Another processor family has a level of the same name with other registers: there, the header does not compile.
sed -i -E 's/(LEVEL\(Baseline, *baseline, *)16/\132/' "$folder/turn.hpp"
said=$(cd "$folder" && ${CXX:-g++} -std=c++20 -fsyntax-only turn.cc 2>&1) && fail "constants for 16 registers are read for 32"
[[ $said == *"its constants are packed for 16 registers of 16 bytes"* ]] || fail "$said"

# Names that are words of C++, macros and functions of C; operands of no rank, no elements and half a byte; an input and
# an initializer that are outputs, one value that is two, an unused input.
cat > "$folder/exp.onnxtxt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
exp (float[2] static_cast, float INT_MAX, float[0,3] y1, int4[3] w0, bool[2] unused) =>
    (float[2] static_cast, float[2] NULL, float[2] same, float[0,3] none, float int, float[3] w1, float[2] at) <
  float[2] at = {5, 6}, float half = {0.5}
> {
  NULL = Mul (static_cast, INT_MAX)
  same = Identity (NULL)
  none = Neg (y1)
  int = ReduceSum <keepdims = 0> (NULL)
  w1 = DequantizeLinear (w0, half)
}
END
cat > "$folder/exp.cc" <<'END'
#include "exp.hpp"

#include <cmath>
#include <cstdio>

int main() {
  using namespace exp_;
  static Memory memory;
  alignas(64) static float x[] = {1, -2}, scale = 3, nothing[1], out[5][3], sum;
  alignas(64) static std::uint8_t packed[] = {0x71, 0x0f};
  alignas(64) static bool unused[2];
  const tenon::PackedPtr<const tenon::int4> w0(packed);
  run({x, {2}}, {&scale, {}}, {nothing, {0, 3}}, {w0, {3}}, {unused, {2}}, {out[0], {2}}, {out[1], {2}},
      {out[2], {2}}, {nothing, {0, 3}}, {&sum, {}}, {out[3], {3}}, {out[4], {2}}, memory);
  for (const auto& o : out) std::printf("%g %g %g, ", double{o[0]}, double{o[1]}, double{o[2]});
  std::printf("%g\n", double{sum});
}
END
$tool compile "$folder/exp.onnxtxt" --level baseline -o "$folder/exp.hpp" || fail "exp"
for compiler in g++ clang++-19; do
  command -v $compiler > /dev/null || continue
  said=$(cd "$folder" && $compiler -std=c++20 -O1 -Wall -Wextra -Wconversion -Wshadow -Werror exp.cc -o exp && ./exp)
  [ "$said" = "1 -2 0, 3 -6 0, 3 -6 0, 0.5 3.5 -0.5, 5 6 0, -3" ] || fail "$compiler: exp gives $said"
done

# Two models of one name, for two levels, in two units of a program.
mkdir "$folder/one" "$folder/two"
echo '<ir_version: 10, opset_import: ["" : 21]> m (float[4] x) => (float[4] y) { y = Relu (x) }' > "$folder/one/m.onnxtxt"
echo '<ir_version: 10, opset_import: ["" : 21]> m (float[4] x) => (float[4] y) { y = Neg (x) }' > "$folder/two/m.onnxtxt"
for unit in one two; do
  cat > "$folder/$unit/m.cc" <<END
#include "m.hpp"
float $unit(float number) {
  static m::Memory memory;
  alignas(64) static float x[4], y[4];
  x[3] = number;
  m::run({x, {4}}, {y, {4}}, memory);
  return y[3];
}
END
  $tool compile "$folder/$unit/m.onnxtxt" --level "$([ $unit = one ] && echo baseline || echo "$level")" -o "$folder/$unit/m.hpp" ||
    fail "model m of unit $unit"
  # shellcheck disable=SC2046  # the flags are words
  ${CXX:-g++} $(sed -n '2s/^\/\/ *g++//p' "$folder/$unit/m.hpp") -O0 -c "$folder/$unit/m.cc" -o "$folder/$unit/m.o" || fail "unit $unit"
done
cat > "$folder/units.cc" <<'END'
#include <cstdio>
float one(float), two(float);
int main() { std::printf("%g %g", double{one(-2)}, double{two(-2)}); }
END
said=$(cd "$folder" && ${CXX:-g++} units.cc one/m.o two/m.o -o units && ./units)
[ "$said" = "0 2" ] || fail "two models of one name give $said"

# Weights that are laid out for words are not multiplied by tile registers, where the processor has these.
cat > "$folder/bytes.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 21]>
bytes (float[1,64,5,5] s) => (float[1,64,5,5] u) <
  float scale = {0.1}, uint8 zero = {128}, float[64] scales = {$(awk 'BEGIN { for (k = 0; k < 64; ++k) printf "%s0.02", k ? "," : "" }')},
  int8[64,64,1,1] w = {$(awk 'BEGIN { for (k = 0; k < 4096; ++k) printf "%s%d", k ? "," : "", k * 37 % 255 - 127 }')}
> {
  q = QuantizeLinear (s, scale, zero)
  d = DequantizeLinear (q, scale, zero)
  e = DequantizeLinear <axis = 0> (w, scales)
  c = Conv (d, e)
  r = QuantizeLinear (c, scale, zero)
  u = DequantizeLinear (r, scale, zero)
}
END
cat > "$folder/bytes.cc" <<'END'
#include "bytes.hpp"

#include <cstdio>

int main() {
  static bytes::Memory memory;
  alignas(64) static float s[1600], u[1600];
  std::FILE* const in = std::fopen("bytes.npy", "rb");
  if (in == nullptr || std::fseek(in, -6400, SEEK_END) != 0 || std::fread(s, 4, 1600, in) != 1600) return 1;
  bytes::run({s, {1, 64, 5, 5}}, {u, {1, 64, 5, 5}}, memory);
  return std::fwrite(u, 4, 1600, stdout) == 1600 ? 0 : 1;
}
END
TENON_AMX=0 $tool run "$folder/bytes.onnxtxt" --keep s --output "$folder/out" > "$folder/said" || fail "run bytes"
mv "$folder/out/s.npy" "$folder/bytes.npy"
TENON_AMX=0 $tool compile "$folder/bytes.onnxtxt" -o "$folder/bytes.hpp" || fail "bytes"
# shellcheck disable=SC2046  # the flags are words
(cd "$folder" && ${CXX:-g++} $(sed -n '2s/^\/\/ *g++//p' bytes.hpp) bytes.cc -o bytes && ./bytes > bytes.raw) || fail "bytes.cc"
cmp "$folder/bytes.raw" <(tail -c 6400 "$folder/out/u.npy") || fail "bytes differ"

# Nodes that run bodies: branches with and without a known condition, loops that end by number and by condition, states
# that stay, change and are exchanged, bodies in bodies that read values outside, and entries along any axis. A recurrent
# layer whose states and lengths a run gives.
cat > "$folder/flow.onnxtxt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
flow (float[4,3] x) => (float[4,3] chosen, float[4,3] last, float[4,3] kept, float[5,4,3] all, int64[5] numbers, float[4,3] grown,
                        float[4,3] turned, float[3] sum, float[4,3] rows, float[3,4] columns, float[4,1,1,3] hidden, float[1,1,3] cell) <
  int64 five = {5}, int64 ten = {10}, bool yes = {1}, float zero = {0}, float limit = {2}, float[3] start = {1, 2, 3},
  float many = {36}, float one = {1}, int64[3] gates = {1, 12, 3}, int64[3] steps = {4, 1, 3}, int64[1] first = {0},
  int64[1] second = {1}, int64[1] minus = {-1}, int32[1] four = {4}
> {
  total = ReduceSum <keepdims = 0> (x)
  positive = Greater (total, zero)
  r = Relu (x)
  a = If (positive) <
    then_branch = t () => (float[4,3] p) { e = Exp (r)  p = Mul (e, x) },
    else_branch = f () => (float[4,3] q) { q = If (positive) <
      then_branch = t2 () => (float[4,3] p2) { p2 = Identity (x) }, else_branch = f2 () => (float[4,3] q2) { q2 = Neg (r) }> }
  >
  chosen = If (yes) <then_branch = t3 () => (float[4,3] p3) { p3 = Softmax (a) }, else_branch = f3 () => (float[1] q3) { q3 = Constant <value_floats = [1.0]> () }>
  last, kept, all, numbers = Loop (five, yes, x, r) <body = b (int64 i, bool go, float[4,3] v, float[4,3] k) =>
      (bool go2, float[4,3] n, float[4,3] k, float[4,3] n, int64 i) {
    go2 = Identity (go)
    f = Cast <to = 1> (i)
    s = Sin (v)
    n = If (positive) <then_branch = t4 () => (float[4,3] p4) { p4 = Add (s, f) }, else_branch = f4 () => (float[4,3] q4) { q4 = Sub (k, s) }>
  }>
  grown, turned, left = Loop (ten, positive, r, x, x) <body = b2 (int64 i2, bool go3, float[4,3] v2, float[4,3] u, float[4,3] w) =>
      (bool go4, float[4,3] n2, float[4,3] w, float[4,3] u) {
    n2 = Add (v2, r)
    most = ReduceMax <keepdims = 0> (n2)
    go4 = Less (most, limit)
  }>
  sum, rows, columns = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [0, 1], scan_output_directions = [1, 0],
      body = b3 (float[3] s3, float[3] e3) => (float[3] n3, float[3] n3, float[3] m3) { n3 = Add (s3, e3)  m3 = Mul (n3, e3) }> (start, x)
  counted = Range (zero, many, one)
  wave = Sin (counted)
  w = Reshape (wave, gates)
  recurrence = Neg (w)
  sequence = Reshape (x, steps)
  h0 = Slice (sequence, first, second)
  c0 = Tanh (h0)
  above = Greater (x, zero)
  ones = Cast <to = 6> (above)
  all_ones = Reshape (ones, minus)
  count = ReduceSum (all_ones)
  length = Min (count, four)
  hidden, , cell = LSTM <hidden_size = 3> (sequence, w, recurrence, , length, h0, c0)
}
END
cat > "$folder/flow.cc" <<'END'
#include "flow.hpp"

#include <cstdio>

static flow::Memory memory;
alignas(64) static float x[12], chosen[12], last[12], kept[12], all[60], grown[12], turned[12], sum[3], rows[12], columns[12], hidden[12],
    cell[3];
alignas(64) static std::int64_t numbers[5];

template <class T, std::size_t n>
static void write(const char* name, const T (&data)[n]) {
  std::FILE* const f = std::fopen(name, "wb");
  std::fwrite(data, sizeof(T), n, f);
  std::fclose(f);
}

int main() {
  std::FILE* const in = std::fopen("flow.npy", "rb");
  if (in == nullptr || std::fseek(in, -48, SEEK_END) != 0 || std::fread(x, 4, 12, in) != 12) return 1;
  flow::run({x, {4, 3}}, {chosen, {4, 3}}, {last, {4, 3}}, {kept, {4, 3}}, {all, {5, 4, 3}}, {numbers, {5}}, {grown, {4, 3}},
            {turned, {4, 3}}, {sum, {3}}, {rows, {4, 3}}, {columns, {3, 4}}, {hidden, {4, 1, 1, 3}}, {cell, {1, 1, 3}}, memory);
  write("chosen.raw", chosen), write("last.raw", last), write("kept.raw", kept), write("all.raw", all);
  write("numbers.raw", numbers), write("grown.raw", grown), write("turned.raw", turned), write("sum.raw", sum);
  write("rows.raw", rows), write("columns.raw", columns), write("hidden.raw", hidden), write("cell.raw", cell);
}
END
$tool compile "$folder/flow.onnxtxt" -o "$folder/flow.hpp" || fail "flow"
cp "$folder/flow.hpp" "$folder/again.hpp"
$tool compile "$folder/flow.onnxtxt" -o "$folder/flow.hpp" || fail "flow"
cmp "$folder/flow.hpp" "$folder/again.hpp" || fail "two texts of one model differ"
# shellcheck disable=SC2046  # the flags are words
(cd "$folder" && ${CXX:-g++} $(sed -n '2s/^\/\/ *g++//p' flow.hpp) -Wall -Wextra -Wshadow -Werror flow.cc -o flow) || fail "flow.cc"
nm -u "$folder/flow" | grep -E ' (_Zn[wa]|_Zd[la]|malloc|free|calloc|__cxa_throw|__cxa_allocate)' && fail "the program has a heap or exceptions"
for first in 0.5 -9; do  # the sum of x is positive, then negative
  numbers=$(printf '%s,' "$first" 0.25 -0.5 0.125 0.75 -0.25 0.375 0.5 -0.125 0.0625 0.1875 0.3125)
  echo "<ir_version: 10, opset_import: [\"\" : 21]> x () => (float[4,3] flow) <float[4,3] c = {${numbers%,}}> { flow = Identity (c) }" > "$folder/x.onnxtxt"
  $tool run "$folder/x.onnxtxt" --output "$folder/out" > "$folder/said" || fail "run x"
  cp "$folder/out/flow.npy" "$folder/flow.npy"
  (cd "$folder" && ./flow) || fail "flow ends with $?"
  for result in chosen last kept all numbers grown turned sum rows columns hidden cell; do
    expect "$folder/flow.onnxtxt" x flow $result $result
  done
done

# A loop that runs as often as the run says, whose states exchange their memory; a loop and a scan that never run, with
# results that have no elements. Names are those of functions that loops call, and of a keyword of GNU's C++.
cat > "$folder/turns.onnxtxt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
turns (int64 typeof, float[2,3] byte_at, float[2,3] put_entry, float[2,0] take_entry) =>
    (float[2,3] a, float[2,3] b, float[2,3] c, float[2,3] same, float[0,2,3] never, float[2] last, float[2,0] checked_length,
     float[2,0] take_entry) <
  bool yes = {1}, int64 zero = {0}, float[2] start = {1, 2}
> {
  a, b, c = Loop (typeof, yes, byte_at, put_entry, byte_at) <body = exchange (int64 i, bool go, float[2,3] u, float[2,3] v, float[2,3] w) =>
      (bool go, float[2,3] v, float[2,3] s, float[2,3] u) { s = Add (u, v) }>
  same, never = Loop (zero, yes, put_entry) <body = idle (int64 j, bool go2, float[2,3] x) => (bool go2, float[2,3] y, float[2,3] y) { y = Neg (x) }>
  last, checked_length = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
      body = none (float[2] p, float[2] e) => (float[2] q, float[2] q) { q = Add (p, e) }> (start, take_entry)
}
END
cat > "$folder/turns.cc" <<'END'
#include "turns.hpp"

#include <cstdio>

int main() {
  static turns::Memory memory;
  const float x[] = {1, 2, 3, 4, 5, 6}, y[] = {100, 200, 300, 400, 500, 600};
  float a[6], b[6], c[6], same[6], last[2];
  for (const std::int64_t count : {-1, 0, 1, 2, 5}) {
    turns::run({&count, {}}, {x, {2, 3}}, {y, {2, 3}}, {nullptr, {2, 0}}, {a, {2, 3}}, {b, {2, 3}}, {c, {2, 3}},
               {same, {2, 3}}, {nullptr, {0, 2, 3}}, {last, {2}}, {nullptr, {2, 0}}, {nullptr, {2, 0}},
               memory);
    std::printf("%g %g %g, ", double{a[0]}, double{b[0]}, double{c[5]});
  }
  std::printf("%g %g", double{same[0]}, double{last[1]});
}
END
$tool compile "$folder/turns.onnxtxt" --level baseline -o "$folder/turns.hpp" || fail "turns"
grep -qE '^ +(if .*)?std::memcpy\(.*, 0\);' "$folder/turns.hpp" && fail "turns has a copy of no bytes"
said=$(cd "$folder" && ${CXX:-g++} -std=gnu++20 -O1 -Wall -Wextra -Wconversion -Wshadow -Werror turns.cc -o turns && ./turns)
[ "$said" = "1 100 6, 1 100 6, 100 101 6, 101 201 600, 503 805 1812, 100 2" ] || fail "turns gives $said"

# Weights that the run gives take the more memory, the larger neighbours among them are.
cat > "$folder/given.onnxtxt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
given (uint8[1,64,7,7] x, int8[128,64,3,3] w) => (int32[1,128,5,5] y) { y = ConvInteger (x, w) }
END
cat > "$folder/given.cc" <<'END'
#include "given.hpp"

#include <cstdio>

static given::Memory memory;
static std::uint8_t x[64 * 49];
static std::int8_t w[128 * 576];
static std::int32_t y[128 * 25];

int main() {
  for (int k = 0; k < 64 * 49; ++k) x[k] = static_cast<std::uint8_t>(k % 3);
  for (std::int8_t& v : w) v = 127;
  given::run({x, {1, 64, 7, 7}}, {w, {128, 64, 3, 3}}, {y, {1, 128, 5, 5}}, memory);
  int sum = 0;  // of the window at the corner
  for (int c = 0; c < 64; ++c)
    for (int k = 0; k < 9; ++k) sum += 127 * x[c * 49 + k / 3 * 7 + k % 3];
  std::printf("%d", y[127 * 25] - sum);
}
END
TENON_VNNI=0 TENON_AMX=0 $tool compile "$folder/given.onnxtxt" -o "$folder/given.hpp" || fail "given"
# shellcheck disable=SC2046  # the flags are words
said=$(cd "$folder" && ${CXX:-g++} $(sed -n '2s/^\/\/ *g++//p' given.hpp) given.cc -o given && ./given)
[ "$said" = 0 ] || fail "given gives $said"

# A header has the kernels that its run uses; without them, others give the same bits.
cat > "$folder/cells.onnxtxt" <<END
<ir_version: 10, opset_import: ["" : 21]>
cells (float[1,3,20,38] s) => (float[1,40,10,19] u) <
  float[32,3,3,3] w = {$(numbers 864 1)}, float[32,1,3,3] v = {$(numbers 288 2)}, float[40,32,1,1] p = {$(numbers 1280 3)}
> {
  a = Conv <pads = [1, 1, 1, 1]> (s, w)
  b = Relu (a)
  c = Conv <pads = [1, 1, 1, 1], strides = [2, 2], group = 32> (b, v)
  d = Relu (c)
  u = Conv (d, p)
}
END
cat > "$folder/cells.cc" <<'END'
#include "cells.hpp"

#include <cstdio>

int main() {
  static cells::Memory memory;
  alignas(64) static float s[2280], u[7600];
  std::FILE* const in = std::fopen("cells.npy", "rb");
  if (in == nullptr || std::fseek(in, -9120, SEEK_END) != 0 || std::fread(s, 4, 2280, in) != 2280) return 1;
  cells::run({s, {1, 3, 20, 38}}, {u, {1, 40, 10, 19}}, memory);
  return std::fwrite(u, 4, 7600, stdout) == 7600 ? 0 : 1;
}
END
$tool run "$folder/cells.onnxtxt" --keep s --output "$folder/out" > "$folder/said" || fail "run cells"
mv "$folder/out/s.npy" "$folder/cells.npy"
$tool compile "$folder/cells.onnxtxt" -o "$folder/cells.hpp" || fail "cells"
grep -qE '^#define cells_TENON_VARIANTS .*[1-9]' "$folder/cells.hpp" || fail "cells has no variants"
cells() {
  # shellcheck disable=SC2046  # the flags are words
  (cd "$folder" && ${CXX:-g++} $(sed -n '2s/^\/\/ *g++//p' cells.hpp) cells.cc -o cells && ./cells > cells.raw) || fail "cells.cc $*"
  cmp "$folder/cells.raw" <(tail -c 30400 "$folder/out/u.npy") || fail "cells differ $*"
}
cells
sed -i -E 's/^(#define cells_TENON_VARIANTS).*/\1 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0/' "$folder/cells.hpp"
cells "without variants"

# The default of CompileOptions is a name like any other.
$tool compile "$folder/turn.onnxtxt" --level baseline --namespace model -o "$folder/model.hpp" || fail "--namespace"
grep -q '^namespace model {' "$folder/model.hpp" || fail "--namespace model has another"

# All refusals.
refused() {
  local status
  said=$($tool compile "$@" -o "$folder/none.hpp" 2>&1)
  status=$?
  [ $status -eq 1 ] || fail "'$*' ends with $status: $said"
  [ ! -e "$folder/none.hpp" ] || fail "'$*' wrote a header"
}
says() { [[ $said == *"$1"* ]] || fail "'$1' is not in: $said"; }
echo '<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x, bool c, int64 m) => (int64[1,n] i, float[4] r, float[k] b, float[4] d, float[t,4] all, float[l] g) {
  i = NonZero (x)
  r = RandomNormalLike (x)
  b = If (c) <then_branch = g1 () => (float[4] p) { p = Relu (x) }, else_branch = g2 () => (float[1] q) { q = ReduceSum (x) }>
  d = If (c) <then_branch = g3 () => (float[4] p) { p = RandomNormalLike (x) }, else_branch = g4 () => (float[4] q) { q = Neg (x) }>
  kept, all = Loop (m, , x) <body = g5 (int64 t, bool go, float[4] u) => (bool go, float[4] u, float[4] e) { e = Sin (u) }>
  g = Loop (m, , x) <body = g6 (int64 t, bool go, float[h] v) => (bool go, float[j] w) { w = Concat <axis = 0> (v, v) }>
}' > "$folder/refused.onnxtxt"
refused "$folder/refused.onnxtxt"
says "6 nodes have no form in a header:"
says "(NonZero-13): it makes its results in the run"
says "(RandomNormalLike-1): it draws random numbers"
says "(If-21): result 0 has the extents (4) in then_branch, (1) in else_branch"
says "(If-21), then_branch: node 'p' (RandomNormalLike-1): it draws random numbers"
says "(Loop-21): result 1 has an entry for each run of the body, whose number is known in the run only"
says "(Loop-21): the extents of state 0 change, or are known in the run only"
[ "$(wc -l <<< "$said")" -eq 7 ] || fail "not a line for each: $said"
echo '<ir_version: 10, opset_import: ["" : 21]> g (float[b,n] x, float[n,3] w) => (float[b,3] y) { y = MatMul (x, w) }' > "$folder/symbols.onnxtxt"
$tool compile "$folder/symbols.onnxtxt" --shape x=2x5 -o "$folder/symbols.hpp" || fail "x=2x5 leaves n open"
refused examples/digits/digits.onnx
says "extents are left open"
says "input 'image' (batch,8,8)"
refused examples/digits/digits.onnx --shape batch=1,rows=3
says "'rows' names no input"
refused examples/digits/digits.onnx --shape image=1x9x8
says "input 'image' does not have the extents (1,9,8)"
refused examples/digits/digits.onnx --shape batch=1 --shape batch=2 --shape image=1x8x8
says "two sets of shapes give the inputs 'image' (1,8,8)"
echo '<ir_version: 10, opset_import: ["" : 21]> s (float[1] x) => (float[1] y, string[1] word) <string[1] word = {"a"}> { y = Neg (x) }' > "$folder/word.onnxtxt"
refused "$folder/word.onnxtxt"
says "output 'word' is no tensor of numbers"
said=$($tool compile examples/digits/digits.onnx --shape batch -o "$folder/none.hpp" 2>&1)
[ $? -eq 2 ] || fail "--shape batch: $said"
exit 0
