// Forms of products that the processor at hand may not choose: tile registers, in plain memory, and
// words.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/kernels/gemm/quant_gemm.hpp"
#include "tenon/kernels/quant_conv/last.hpp"
#include "tests/working_memory.hpp"

using namespace tenon;
using namespace tenon::kernels;
using Arch = simd::Native;

namespace {

// The instruction for words is not on every processor of a level that has it.
const bool has_words = !simd::has_dot_bytes_16<Arch> || simd::has_dot_bytes<Arch>();

template <class T>
std::vector<T> numbers(int64_t count) {
  static std::mt19937 random(11);
  std::vector<T> v(static_cast<size_t>(count));
  for (T& x : v) x = static_cast<T>(random() >> 7);
  return v;
}

int32_t number(uint8_t byte, bool is_signed) { return is_signed ? static_cast<int8_t>(byte) : byte; }

// The sum (u - z)(s - t) of a row of A and a column of signed bytes.
int32_t dot(const uint8_t* a, bool a_signed, uint8_t z, const int8_t* b, int64_t b_step, int32_t t,
            int64_t k) {
  int32_t sum = 0;
  for (int64_t p = 0; p < k; ++p) sum += (number(a[p], a_signed) - number(z, a_signed)) * (b[p * b_step] - t);
  return sum;
}

template <class Ops>
void test_gemm(gemm_detail::ByteForm form, int64_t m, int64_t n, int64_t k) {
  using S = gemm_detail::Tile<Ops, Arch>;
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const auto a = numbers<uint8_t>(m * k + 1), a_zero = numbers<uint8_t>(m);
  const auto b = numbers<int8_t>(k * n + n), b_zero = numbers<int8_t>(n);
  const auto bias = numbers<int32_t>(n);
  for (const bool a_signed : {false, true}) {
    const bool many_zeros = a_signed != (k % 2 == 0);
    std::vector<int32_t> expected(static_cast<size_t>(m * n)), c(expected.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const auto at = [&](int64_t index) { return static_cast<size_t>(many_zeros ? index : 0); };
        expected[static_cast<size_t>(i * n + j)] =
            dot(a.data() + i * k, a_signed, a_zero[at(i)], b.data() + j, n, b_zero[at(j)], k) +
            bias[static_cast<size_t>(j)];
      }
    QuantGemmArgs g;
    g.m = m, g.n = n, g.k = k, g.c = c.data(), g.c_row = n, g.col_bias = bias.data();
    g.a = {a.data(), k, 1, a_signed, a_zero.data(), many_zeros};
    g.b = {b.data(), n, 1, true, b_zero.data(), many_zeros};
    gemm_detail::multiply_bytes<Ops, Arch>(g, form);
    CHECK(c == expected);
    if (gemm_detail::has_few_byte_rows<Arch>(g)) {
      c.assign(c.size(), 0);
      gemm_detail::few_rows_product<true, Arch>(g);
      CHECK(c == expected);
      c.assign(c.size(), 0);
      gemm_detail::few_rows_product<false, Arch>(g);
      CHECK(c == expected);
    }
    const auto size = gemm_detail::ByteImage::size(n, S::cols, gemm_detail::depth_of<Ops>(k));
    std::vector<int32_t> packed(static_cast<size_t>(size));
    gemm_detail::pack_images<Ops, Arch, S::cols>(
        form, true, 1, [&](int64_t) { return gemm_detail::columns_of_b(g, 0); }, packed.data(), 0);
    g.packed_b = packed.data();
    c.assign(c.size(), 0);
    gemm_detail::multiply_bytes<Ops, Arch>(g, form);
    CHECK(c == expected);
  }
}

struct Case {
  int64_t batch, in_channels, out_channels, in[2], kernel[2], strides[2], dilations[2], pad;
};

// With small weights the products fit into 16 bits, so that there is no excess.
void test_conv(const Case& c, bool plain, bool with_sum, bool small) {
  CAPTURE(c.in_channels);
  CAPTURE(c.kernel[0]);
  CAPTURE(plain);
  CAPTURE(with_sum);
  CAPTURE(small);
  const int64_t pads[] = {c.pad, c.pad};
  int64_t out[2];
  for (int d = 0; d < 2; ++d)
    out[d] = (c.in[d] + 2 * c.pad - (c.kernel[d] - 1) * c.dilations[d] - 1) / c.strides[d] + 1;
  QuantConvLastArgs g;
  g.geometry = {2,        c.batch,   1,           c.in_channels, c.out_channels, c.in, out,
                c.kernel, c.strides, c.dilations, pads};
  REQUIRE(fits_conv_last(g.geometry, plain));
  const int64_t cells = c.in[0] * c.in[1], taps = c.kernel[0] * c.kernel[1],
                pixels = c.batch * out[0] * out[1];
  const auto x = numbers<uint8_t>(c.batch * cells * c.in_channels),
             z = numbers<uint8_t>(pixels * c.out_channels);
  auto w = numbers<int8_t>(c.out_channels * c.in_channels * taps);
  for (int8_t& v : w)
    if (small) v = static_cast<int8_t>(v >> 1);
  const auto bias = numbers<int16_t>(c.out_channels);
  const std::vector<int32_t> wide_bias(bias.begin(), bias.end());
  const std::vector<float> scale(static_cast<size_t>(c.out_channels), 0x1p-9f);
  g.plain_x = plain, g.x = x.data(), g.x_zero = 77, g.scale = scale.data(), g.zero = 120, g.lo = 30,
  g.hi = 220;
  if (with_sum) g.sum = {z.data(), 99, 0.5f, 0.25f, 7, 7, 200};

  std::vector<uint8_t> expected, y(static_cast<size_t>(pixels * c.out_channels));
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t m = 0; m < c.out_channels; ++m) {
      int32_t sum = wide_bias[static_cast<size_t>(m)];
      const int64_t n = p / (out[0] * out[1]), top = p / out[1] % out[0] * c.strides[0] - c.pad,
                    left = p % out[1] * c.strides[1] - c.pad;
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t row = top + t / c.kernel[1] * c.dilations[0],
                      column = left + t % c.kernel[1] * c.dilations[1];
        if (row < 0 || row >= c.in[0] || column < 0 || column >= c.in[1]) continue;
        for (int64_t i = 0; i < c.in_channels; ++i) {
          const int64_t cell = row * c.in[1] + column;
          const int64_t at =
              plain ? (n * c.in_channels + i) * cells + cell : (n * cells + cell) * c.in_channels + i;
          sum +=
              (x[static_cast<size_t>(at)] - 77) * w[static_cast<size_t>((m * c.in_channels + i) * taps + t)];
        }
      }
      float q =
          std::min(std::max(std::nearbyint(static_cast<float>(sum) * 0x1p-9f), 30.f - 120), 220.f - 120);
      if (with_sum) {
        q = q * 0.5f + static_cast<float>(z[static_cast<size_t>(p * c.out_channels + m)] - 99) * 0.25f;
        q = std::min(std::max(std::nearbyint(q), 0.f), 193.f) + 7;
      } else {
        q += 120;
      }
      expected.push_back(static_cast<uint8_t>(q));
    }

  using namespace conv_last_detail;
  const auto check = [&]<class Words>(Words, bool tiles) {
    CAPTURE(tiles);
    CAPTURE(Words::per_cell);
    for (const int threads : {1, 3}) {
      CAPTURE(threads);
      ThreadPool pool(threads);
      const ScopedPool scope(pool);
      const Layout<Arch> l(g.geometry, plain, tiles);
      int64_t places = 0;
      if constexpr (gemm_detail::may_exceed<Words>) {
        places = excess_places(l, g.geometry, plain, w.data(), INT64_MAX);
        if (c.in_channels > 1) CHECK((places == 0) == small);
      }
      std::vector<int32_t> packed(static_cast<size_t>(
          Layout<Arch>(g.geometry, plain, tiles, Words::per_cell).size_with_excess(places)));
      pack_weights<Words>(l, g.geometry, plain, w.data(), wide_bias.data(), g.x_zero, packed.data());
      if (places > 0) take_excess(l, packed.data());
      y.assign(y.size(), 0);
      g.packed_w = packed.data(), g.y = y.data();
      if (tiles) conv_by_tiles<simd::PlainTiles, Arch>(g);
      else conv_by_words<Words, Arch>(g, places > 0 ? l.lists() : 0);
      CHECK(y == expected);
    }
  };
  check(Quads{}, true);
  if (has_words) check(Quads{}, false);
  check(Pair{}, false);
  check(SafeQuads{}, false);
}

// Numbers of `bits` bits.
std::vector<float> floats(int64_t count, int bits) {
  std::vector<float> v;
  for (const int32_t x : numbers<int32_t>(count))
    v.push_back(std::ldexp(static_cast<float>(x % (2 << bits) - (1 << bits)), -bits));
  return v;
}

// The product by parts, or nothing where it is left to others.
template <int parts>
std::vector<float> split(const GemmArgs<float>& g, bool plain_b) {
  using namespace gemm_detail;
  using S = Tile<Single<float>, Arch>;
  std::vector<float> c(static_cast<size_t>(g.m * g.n));
  const auto pack_b = [&](int64_t j, int64_t cols, int64_t p, int64_t depth, float* to) {
    pack_panel<Arch, S::cols>(g.b + j * g.b_col + p * g.b_row, g.b_col, g.b_row, cols, depth, to);
  };
  const auto product = [&](int64_t) {
    return Product<Single<float>, Packed, decltype(pack_b)>{
        g.m, g.n, g.k, nullptr, nullptr, {}, pack_b, plain_b ? g.b : nullptr, g.b_row, c.data(), g.n, {}};
  };
  if (!run_split<simd::PlainTiles, parts, Arch>(g, 1, product)) c.clear();
  return c;
}

template <int parts>
void test_split(int64_t m, int64_t n, int64_t k) {
  CAPTURE(parts);
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  auto a = floats(m * k, parts == 1 ? 8 : 11);
  const auto b = floats(k * n, parts == 1 ? 8 : 11);
  GemmArgs<float> g;
  g.m = m, g.n = n, g.k = k, g.a = a.data(), g.a_row = k, g.b = b.data(), g.b_row = n;
  const std::vector<float> c = split<parts>(g, true);
  REQUIRE(c.size() == static_cast<size_t>(m * n));
  double worst = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double term =
            double{a[static_cast<size_t>(i * k + p)]} * double{b[static_cast<size_t>(p * n + j)]};
        sum += term, size += std::abs(term);
      }
      worst = std::max(worst, std::abs(c[static_cast<size_t>(i * n + j)] - sum) / (size + 1e-30));
    }
  CHECK(worst < 1e-6);
  for (const int threads : {2, 5}) {
    ThreadPool pool(threads);
    const ScopedPool scope(pool);
    CHECK(split<parts>(g, true) == c);
    CHECK(split<parts>(g, false) == c);
  }
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    a[a.size() / 2] = bad;
    CHECK(split<parts>(g, true).empty());
  }
  a.assign(a.size(), 1e-30f);
  CHECK(split<parts>(g, true).empty());
}

}  // namespace

TEST_CASE("quant_gemm: neither zero points nor addresses decide how much memory it takes") {
  const int64_t k = 512, n = 128;
  const auto a = numbers<uint8_t>(40 * k + 1);
  const std::vector<int8_t> b(static_cast<size_t>(k * n), 3);
  const uint8_t zero = 77;
  const auto product = [&](int64_t m, const uint8_t* of, const uint8_t* a_zero, const int32_t* packed) {
    return [=, &b] {
      std::vector<int32_t> c(static_cast<size_t>(m * n));
      QuantGemmArgs g;
      g.m = m, g.n = n, g.k = k, g.c = c.data(), g.c_row = n, g.packed_b = packed;
      g.a = {of, k, 1, false, a_zero, 0};
      g.b = {b.data(), n, 1, true, nullptr, 0};
      if (packed != nullptr || m > 1 || !has_words) quant_gemm(g);
      else gemm_detail::few_rows_product<true, Arch>(g);
    };
  };
  CHECK(working_memory(product(1, a.data(), nullptr, nullptr)) ==
        working_memory(product(1, a.data(), &zero, nullptr)));
  QuantGemmArgs g;
  g.n = n, g.k = k, g.b = {b.data(), n, 1, true, nullptr, 0};
  std::vector<int32_t> packed(static_cast<size_t>(quant_packed_b_size(g)));
  quant_pack_b(g, packed.data());
  for (const int64_t m : {3, 40})
    CHECK(working_memory(product(m, a.data(), nullptr, packed.data())) ==
          working_memory(product(m, a.data() + 1, &zero, packed.data())));
}

TEST_CASE("gemm: numbers of few bits as sums of parts, against the definition") {
  for (const int64_t m : {1, 16, 33, 300})
    for (const int64_t n : {1, 32, 65, 210})
      for (const int64_t k : {1, 32, 401}) {
        test_split<1>(m, n, k);
        test_split<2>(m, n, k);
      }
}

TEST_CASE("quant_gemm: words and tile registers, against the definition" * doctest::skip(!has_words)) {
  for (const int64_t m : {1, 16, 17, 70})
    for (const int64_t n : {1, 31, 32, 50, 90})
      for (const int64_t k : {0, 1, 63, 64, 130, 800}) {
        test_gemm<gemm_detail::TileQuad<simd::PlainTiles>>(gemm_detail::ByteForm::tiles, m, n, k);
        test_gemm<gemm_detail::Quad<false, true>>(gemm_detail::ByteForm::quads, m, n, k);
      }
}

TEST_CASE("quant_conv_last: all words and tile registers, against the definition") {
  const Case cases[] = {
      {2, 64, 48, {5, 9}, {1, 1}, {1, 1}, {1, 1}, 0},   {1, 64, 112, {9, 8}, {1, 1}, {1, 1}, {1, 1}, 0},
      {1, 8, 16, {7, 7}, {3, 3}, {1, 1}, {1, 1}, 1},    {2, 20, 80, {6, 11}, {3, 2}, {2, 1}, {1, 2}, 1},
      {1, 132, 32, {7, 6}, {3, 3}, {1, 1}, {1, 1}, 1},  {1, 4, 16, {3, 3}, {3, 3}, {1, 1}, {2, 2}, 3},
      {1, 68, 64, {40, 17}, {1, 1}, {2, 2}, {1, 1}, 0},
  };
  for (const Case& c : cases)
    for (const bool with_sum : {false, true})
      for (const bool small : {false, true}) test_conv(c, false, with_sum, small);
  for (const int64_t channels : {1, 3, 4})
    for (const int64_t kernel : {1, 3, 7, 9})
      for (const bool small : {false, true})
        test_conv({2, channels, 32, {13, 14}, {kernel, kernel}, {2, 1}, {1, 1}, kernel / 2}, true,
                  kernel == 3, small);
}
