// MatMulNBits: products with matrices of integers of 2, 4 and 8 bits.
#include "tenon/op/com.microsoft/mat_mul_n_bits.hpp"

#include "tenon/graph/passes/pack_narrow.hpp"
#include "tenon/graph/session.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::MatMulNBits;

namespace {

/// One use of the operator, and its result by plain loops.
struct Product {
  MatMulNBits op;
  int64_t rows = 1;
  bool packed_zeros = false, float_zeros = false, grouped = false, biased = false, flat = false;

  int64_t blocks() const { return (*op.K - 1) / *op.block_size + 1; }
  static double number(int64_t seed) { return static_cast<double>(seed * 37 % 41 - 20) / 8; }
  double a(int64_t i, int64_t k) const { return number(i * 5 + k); }
  int code(int64_t n, int64_t k) const {
    return static_cast<int>((n * 13 + k * 7 + k / 16) & ((1 << op.bits) - 1));
  }
  // Numbers of W fit into bfloat16.
  double scale(int64_t n, int64_t b) const { return 1 / static_cast<double>(1 << ((n + 3 * b) % 3)); }
  double zero(int64_t n, int64_t b) const {
    if (float_zeros) return static_cast<double>((n * 3 + b) % 7) + (op.bits < 8 ? 0.5 : 100);
    if (packed_zeros && !grouped) return static_cast<double>((n * 5 + b * 3) & ((1 << op.bits) - 1));
    return 1 << (op.bits - 1);
  }
  int64_t group(int64_t k) const { return grouped ? (k * 3 + 1) % blocks() : k / *op.block_size; }

  /// Codes, `columns` in a row, packed to rows of whole bytes.
  template <class F>
  Tensor<uint8_t> pack(int64_t columns, F code_at) const {
    const int64_t each = 8 / op.bits, row = (columns + each - 1) / each;
    Tensor<uint8_t> bytes(Extents{*op.N, row});
    std::fill(bytes.begin(), bytes.end(), uint8_t{0});
    for (int64_t n = 0; n < *op.N; ++n)
      for (int64_t c = 0; c < columns; ++c)
        bytes.data()[n * row + c / each] |= static_cast<uint8_t>(code_at(n, c) << (c % each * op.bits));
    return bytes;
  }
  template <class T, class F>
  Value of_blocks(F f) const {
    Tensor<T> t(flat ? Extents{*op.N * blocks()} : Extents{*op.N, blocks()});
    for (int64_t k = 0; k < t.size(); ++k) t.data()[k] = static_cast<T>(f(k / blocks(), k % blocks()));
    return t;
  }
  std::vector<Value> operands() const {
    const int64_t K = *op.K, N = *op.N;
    Tensor<float> x(Extents{rows, K}), bias(Extents{N});
    for (int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(a(i / K, i % K));
    for (int64_t n = 0; n < N; ++n) bias.data()[n] = static_cast<float>(n);
    Tensor<int32_t> groups(Extents{K});
    for (int64_t k = 0; k < K; ++k) groups.data()[k] = static_cast<int32_t>(group(k));
    const AnyTensor b = pack(blocks() * *op.block_size, [&](int64_t n, int64_t k) { return code(n, k); });
    Value zeros;
    if (float_zeros) zeros = of_blocks<float>([&](int64_t n, int64_t g) { return zero(n, g); });
    if (packed_zeros)
      zeros =
          pack(blocks(), [&](int64_t n, int64_t g) { return grouped ? 0 : static_cast<int>(zero(n, g)); });
    return {x,
            b.reshaped({N, blocks(), *op.block_size * op.bits / 8}),
            of_blocks<float>([&](int64_t n, int64_t g) { return scale(n, g); }),
            zeros,
            grouped ? Value(groups) : Value(),
            biased ? Value(bias) : Value()};
  }
  Value result() const {
    Tensor<float> y(Extents{rows, *op.N});
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t r = i / *op.N, n = i % *op.N;
      double sum = biased ? static_cast<double>(n) : 0;
      for (int64_t k = 0; k < *op.K; ++k)
        sum += a(r, k) * (code(n, k) - zero(n, group(k))) * scale(n, group(k));
      y.data()[i] = static_cast<float>(sum);
    }
    return y;
  }
  void check_run() const { check(op, operands(), {result()}, 1e-5, 1e-4); }
};

MatMulNBits product(int64_t k, int64_t n, int64_t block, int64_t bits) {
  return {.K = k, .N = n, .bits = bits, .block_size = block};
}

}  // namespace

TEST_CASE("MatMulNBits: bits, blocks and zero points") {
  for (const int64_t bits : {2, 4, 8})
    for (const int64_t block : {16, 32, 256})
      for (const int64_t k : {16, 64, 300})
        for (const int zeros : {0, 1, 2})
          for (const bool grouped : {false, true}) {
            CAPTURE(bits);
            CAPTURE(block);
            CAPTURE(k);
            CAPTURE(zeros);
            CAPTURE(grouped);
            Product{.op = product(k, 5, block, bits),
                    .rows = 1 + k % 3,
                    .packed_zeros = zeros == 1,
                    .float_zeros = zeros == 2,
                    .grouped = grouped,
                    .biased = k == 64,
                    .flat = block == 32}
                .check_run();
          }
}

namespace {
// A product of an input A with constants, in whose place is what pack_narrow makes of it.
Session packed_session(const Product& p, const std::vector<Value>& operands) {
  Graph g;
  std::vector<ValueId> in{g.add_input("A", DType::float32, {Dim::symbol(0), 64})};
  for (std::size_t k = 1; k < operands.size(); ++k)
    in.push_back(operands[k] ? g.add_constant({}, operands[k]) : -1);
  const std::string name[] = {"Y"};
  g.add_output("Y", g.add_node("n", AnyOperator::make(p.op), in, name)[0]);
  return Session(std::move(g), {.passes = std::vector<Pass>{passes::pack_narrow}, .explain = true});
}
}  // namespace

// A session keeps B's integers, whatever the zero points are, unless those are floats.
TEST_CASE("MatMulNBits: in a session") {
  for (const int64_t bits : {2, 4, 8})
    for (const int zeros : {0, 1, 2}) {
      CAPTURE(bits);
      CAPTURE(zeros);
      const Product p{.op = product(64, 70, 32, bits),
                      .packed_zeros = zeros == 1,
                      .float_zeros = zeros == 2,
                      .biased = true};
      const std::vector<Value> operands = p.operands();
      const Session s = packed_session(p, operands);
      check_equal(s.run({{"A", operands[0]}})["Y"], p.result(), 1e-5, 1e-4);
      CHECK(std::any_of(s.reports().begin(), s.reports().end(),
                        [](const PassReport& r) { return r.applied; }) == (zeros != 2));
    }
}

// Only products that accuracy_level 4 permits to round do so.
TEST_CASE("MatMulNBits: accuracy_level in a session") {
  for (const int64_t bits : {4, 8})
    for (const bool zeros : {false, true}) {
      CAPTURE(bits);
      CAPTURE(zeros);
      const auto run = [&](int64_t level, bool grouped) {
        Product p{.op = product(64, 70, 32, bits), .rows = 3, .packed_zeros = zeros, .grouped = grouped};
        p.op.accuracy_level = level;
        const std::vector<Value> operands = p.operands();
        const Session s = packed_session(p, operands);
        const AnyTensor y = s.run({{"A", operands[0]}})["Y"].tensor(), right = p.result().tensor();
        double apart = 0, all = 0;
        for (int64_t k = 0; k < y.size(); ++k) {
          const auto of = [&](const AnyTensor& t) { return static_cast<double>(t.view().as<float>()[k]); };
          apart += (of(y) - of(right)) * (of(y) - of(right)), all += of(right) * of(right);
        }
        return std::sqrt(apart / all);
      };
      const bool rounds = simd::dispatch([]<class Arch>(Arch) { return simd::has_dot_bytes_16<Arch>; });
      for (const int64_t level : {0, 1, 2, 3}) CHECK(run(level, false) < 1e-5);
      CHECK(run(4, false) < 0.02);
      CHECK((run(4, false) > 1e-4) == rounds);
      CHECK(run(4, true) < 1e-5);
    }
}

TEST_CASE("MatMulNBits: results of ONNX Runtime") {
  check_recorded("com.microsoft/mat_mul_n_bits.txt", {&operator_class<MatMulNBits>});
}

TEST_CASE("MatMulNBits: with groups, as ONNX Runtime computes") {
  Tensor<float> a(Extents{1, 32}), scales(Extents{2, 2}, {1, 0.5f, 0.25f, 2});
  Tensor<uint8_t> b(Extents{2, 2, 8});
  Tensor<int32_t> groups(Extents{32});
  for (int i = 0; i < 32; ++i) {
    a.data()[i] = static_cast<float>(i - 16);
    b.data()[i] = static_cast<uint8_t>(i * 37 + 11);
    groups.data()[i] = i % 2;
  }
  MatMulNBits op = product(32, 2, 16, 4);
  check(op, {a, b, scales}, {t<float>({1, 2}, {139.5f, -322.5f})});
  check(op, {a, b, scales, t<uint8_t>({2, 1}, {0x53, 0x1c}), groups}, {t<float>({1, 2}, {-3.5f, -158})});
  check(op, {a, b, scales, t<float>({2, 2}, {3, 5, 12, 1}), groups}, {t<float>({1, 2}, {-83.5f, -142})});
  op.accuracy_level = 4;
  check(op, {a, b, scales}, {t<float>({1, 2}, {139.5f, -322.5f})});
  check(stated<MatMulNBits>(1, {{"K", int64_t{32}}, {"N", int64_t{2}}, {"block_size", int64_t{16}}}),
        {a, b, scales}, {t<float>({1, 2}, {139.5f, -322.5f})});
}

TEST_CASE("MatMulNBits: extents") {
  const auto of = [](const Dims& a) {
    return infer(product(32, 2, 16, 4),
                 {info(DType::float32, a), info(DType::uint8, {2, 2, 8}), info(DType::float32, {2, 2})})[0]
        .dims;
  };
  CHECK(of({3, Dim::symbol(1), 32}) == Dims{3, Dim::symbol(1), 2});
  CHECK(of({32}) == Dims{2});
  CHECK(of({}) == Dims{});
}

TEST_CASE("MatMulNBits: errors") {
  const std::vector<Value> in = Product{.op = product(32, 2, 16, 4)}.operands();
  const auto fails = [&](MatMulNBits op, std::string_view text) { check_fails(op, in, text); };
  fails(product(32, 2, 16, 3), "bits: 3, expected 2, 4 or 8");
  fails(product(32, 2, 24, 4), "block_size: 24, expected a power of two from 16 on");
  fails(product(32, 2, 8, 4), "block_size: 8, expected a power of two from 16 on");
  fails(product(0, 2, 16, 4), "K: 0, expected at least 1");
  fails(product(32, -2, 16, 4), "N: -2, expected at least 1");
  fails(product(64, 2, 16, 4), "B: (2,2,8), expected (2,4,8)");
  fails({.K = 32, .N = 2, .accuracy_level = 5, .block_size = 16}, "accuracy_level: 5");
  fails({.K = 32, .N = 2, .block_size = 16, .weight_prepacked = 1}, "weight_prepacked: 1, expected 0");
  fails({.N = 2, .block_size = 16}, "K: 0");
  const auto with = [&](std::size_t at, Value v, std::string_view text) {
    std::vector<Value> changed = in;
    changed.resize(6);
    changed[at] = std::move(v);
    check_fails(product(32, 2, 16, 4), changed, text);
  };
  with(0, t<float>({1, 2}, {1, 2}), "A: (1,2) does not end with K, 32");
  with(0, t<float>({}, {1}), "A: rank 0, expected at least 1");
  with(2, t<float>({2}, {1, 2}), "scales: (2), expected (2,2) or (4)");
  with(3, t<uint8_t>({2, 2}, {1, 2, 3, 4}), "zero_points: (2,2), expected (2,1) or (2)");
  with(3, cast<float16>({2, 2}, {1, 2, 3, 4}), "zero_points is float16, scales is float");
  with(4, t<int32_t>({2}, {0, 1}), "g_idx: (2), expected (32) or (32)");
  with(5, t<float>({3}, {1, 2, 3}), "bias: (3), expected (2)");
  Tensor<int32_t> groups(Extents{32});
  std::fill(groups.begin(), groups.end(), 1);
  groups.data()[7] = 2;
  with(4, groups, "g_idx has 2, but there are 2 blocks");
  groups.data()[7] = -1;
  with(4, groups, "g_idx has -1, but there are 2 blocks");
}
}  // namespace tenon
