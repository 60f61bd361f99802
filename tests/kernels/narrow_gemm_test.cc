#include "tenon/kernels/gemm/narrow_gemm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tenon/base/convert.hpp"
#include "tenon/base/packed_int.hpp"
#include "tenon/base/storage.hpp"
#include "tenon/base/thread_pool.hpp"
#include "tests/kernels/data.hpp"
#include "tests/working_memory.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

struct Case {
  int64_t k, n, block;
};
const Case cases[] = {{1, 1, 1},    {5, 3, 5},      {16, 17, 16},  {64, 33, 32},   {33, 70, 40},
                      {96, 48, 16}, {160, 100, 64}, {800, 65, 80}, {400, 40, 400}, {1040, 72, 520}};

/// A matrix of codes with scales and zero points, and its numbers.
struct Matrix {
  NarrowSource source;
  std::vector<uint8_t> codes, zeros;
  std::vector<float> scales;
  std::vector<double> numbers;  // (K,N)
};

template <class T>
void put(std::vector<uint8_t>& to, int64_t i, T x) {
  if constexpr (PackedElement<T>) PackedPtr<T>(to.data())[i] = x;
  else to[static_cast<size_t>(i)] = static_cast<uint8_t>(x);
}

template <class T>
Matrix integers(const Case& c, bool transposed, bool with_zeros) {
  Matrix m;
  const int64_t blocks = (c.k + c.block - 1) / c.block;
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  m.codes.resize(at(c.k * c.n)), m.zeros.resize(at(blocks * c.n)), m.numbers.resize(at(c.k * c.n));
  m.scales = test::numbers<float>(blocks * c.n, 0.1, 2);
  const auto random = test::numbers<int32_t>(c.k * c.n, 0, 256),
             zero = test::numbers<int32_t>(blocks * c.n, 0, 256);
  m.source = {.type = dtype_of<T>,
              .k = c.k,
              .n = c.n,
              .codes = m.codes.data(),
              .transposed = transposed,
              .block = c.block,
              .scale = m.scales.data(),
              .scale_row = transposed ? 1 : c.n,
              .scale_col = transposed ? blocks : 1,
              .zero = with_zeros ? m.zeros.data() : nullptr};
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t j = 0; j < c.n; ++j)
      put(m.zeros, transposed ? j * blocks + b : b * c.n + j, T(zero[at(b * c.n + j)]));
  for (int64_t k = 0; k < c.k; ++k)
    for (int64_t j = 0; j < c.n; ++j) {
      const T x(random[at(k * c.n + j)]), z(with_zeros ? zero[at(k / c.block * c.n + j)] : 0);
      put(m.codes, transposed ? j * c.k + k : k * c.n + j, x);
      m.numbers[at(k * c.n + j)] =
          static_cast<double>(static_cast<float>(static_cast<int>(x) - static_cast<int>(z)) *
                              m.scales[at(k / c.block * m.source.scale_row + j * m.source.scale_col)]);
    }
  return m;
}

template <class T>
Matrix halves(const Case& c, bool transposed) {
  Matrix m;
  const auto numbers = test::numbers<T>(c.k * c.n);
  m.codes.resize(numbers.size() * 2), m.numbers.resize(numbers.size());
  for (int64_t k = 0; k < c.k; ++k)
    for (int64_t j = 0; j < c.n; ++j) {
      const T x = numbers[static_cast<size_t>(k * c.n + j)];
      m.numbers[static_cast<size_t>(k * c.n + j)] = convert<double>(x);
      std::memcpy(m.codes.data() + 2 * (transposed ? j * c.k + k : k * c.n + j), &x, 2);
    }
  m.source = {.type = dtype_of<T>, .k = c.k, .n = c.n, .codes = m.codes.data(), .transposed = transposed};
  return m;
}

void check(const Matrix& m) {
  if (m.source.scale != nullptr && !narrow_fits(m.source)) return;
  const int64_t k = m.source.k, n = m.source.n;
  const NarrowSize size = narrow_size(m.source);
  Storage data = Storage::make<std::byte>(size.data), zeros = Storage::make<uint8_t>(size.zeros);
  const NarrowMatrix b = narrow_pack(m.source, data.as<std::byte>(), zeros.as<uint8_t>());
  for (const int64_t rows : {1, 2, 3, 4, 7, 12, 30})
    for (const bool across : {false, true}) {
      CAPTURE(rows);
      CAPTURE(across);
      const auto a = test::numbers<float>(rows * k), d = test::numbers<float>(rows * n),
                 bias = test::numbers<float>(n, -1, 1, 2);
      std::vector<float> c(static_cast<size_t>(rows * n));
      GemmArgs<float> g;
      g.m = rows, g.n = n, g.k = k;
      g.a = a.data(), g.a_row = across ? 1 : k, g.a_col = across ? rows : 1;
      g.c = c.data(), g.c_row = n;
      if (across) g.alpha = 0.5f, g.beta = 2, g.d = d.data(), g.d_row = n, g.col_bias = bias.data(), g.lo = 0;
      narrow_gemm(g, b);
      int64_t wrong = 0;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0, terms = 1;
          for (int64_t p = 0; p < k; ++p) {
            const double x = static_cast<double>(g.a[i * g.a_row + p * g.a_col]) *
                             m.numbers[static_cast<size_t>(p * n + j)];
            sum += x, terms += std::abs(x);
          }
          if (across)
            sum = std::max(0.0, 0.5 * sum + 2 * static_cast<double>(d[static_cast<size_t>(i * n + j)]) +
                                    static_cast<double>(bias[static_cast<size_t>(j)]));
          const double apart = std::abs(static_cast<double>(c[static_cast<size_t>(i * n + j)]) - sum);
          if (!(apart <= 2e-6 * (terms + 10))) ++wrong;
        }
      CHECK(wrong == 0);
      for (const int threads : {2, 5}) {  // the same bits
        ThreadPool pool(threads);
        const ScopedPool scope(pool);
        const std::vector<float> before = c;
        narrow_gemm(g, b);
        CHECK(std::memcmp(before.data(), c.data(), c.size() * sizeof(float)) == 0);
      }
    }
}

TEST_CASE_TEMPLATE("products of integers with scales", T, int2, uint2, int4, uint4, int8_t, uint8_t) {
  for (const Case& c : cases)
    for (const bool transposed : {false, true})
      for (const bool zeros : {false, true}) {
        CAPTURE(c.k);
        CAPTURE(c.n);
        CAPTURE(transposed);
        CAPTURE(zeros);
        check(integers<T>(c, transposed, zeros));
      }
}

TEST_CASE_TEMPLATE("numbers do not decide how much memory a product takes", T, int2, uint4, int8_t) {
  constexpr int64_t k = 1001, n = 72;
  const Matrix m = integers<T>({k, n, 32}, false, true);
  const NarrowSize size = narrow_size(m.source);
  Storage data = Storage::make<std::byte>(size.data), zeros = Storage::make<uint8_t>(size.zeros);
  const NarrowMatrix b = narrow_pack(m.source, data.as<std::byte>(), zeros.as<uint8_t>());
  for (const int64_t rows : {1, 2}) {
    const auto memory = [&](float x) {
      const std::vector<float> a(static_cast<size_t>(rows * k), x);
      std::vector<float> y(static_cast<size_t>(rows * n));
      GemmArgs<float> g;
      g.m = rows, g.n = n, g.k = k;
      g.a = a.data(), g.a_row = k;
      g.c = y.data(), g.c_row = n;
      return working_memory([&] { narrow_gemm(g, b); });
    };
    CHECK(memory(1e-35f) <= memory(0));
  }
}

TEST_CASE_TEMPLATE("products of NaN, infinities and numbers of any size equal floats' products", T, int2,
                   uint4, int8_t) {
  constexpr int64_t n = 72;
  const Matrix m = integers<T>({64, n, 32}, false, true);
  const NarrowSize size = narrow_size(m.source);
  Storage data = Storage::make<std::byte>(size.data), zeros = Storage::make<uint8_t>(size.zeros);
  const NarrowMatrix b = narrow_pack(m.source, data.as<std::byte>(), zeros.as<uint8_t>());
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const float x : {1e-42f, 1e-30f, 1e35f, inf, -inf, std::nanf("")})
    for (const int64_t rows : {1, 3, 20}) {
      CAPTURE(x);
      CAPTURE(rows);
      std::vector<float> a(static_cast<size_t>(rows * 64)), y(static_cast<size_t>(rows * n));
      for (int64_t i = 0; i < rows; ++i) a[static_cast<size_t>(i * 64 + 37)] = x;
      GemmArgs<float> g;
      g.m = rows, g.n = n, g.k = 64;
      g.a = a.data(), g.a_row = 64;
      g.c = y.data(), g.c_row = n;
      narrow_gemm(g, b);
      int64_t wrong = 0;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const double right = static_cast<double>(x) * m.numbers[static_cast<size_t>(37 * n + j)];
          const double is = static_cast<double>(y[static_cast<size_t>(i * n + j)]);
          const bool same = std::isnan(right)   ? std::isnan(is)
                            : std::isinf(right) ? is == right
                                                : std::abs(is - right) <= 1e-6 * std::abs(right) + 1e-44;
          if (!same) ++wrong;
        }
      CHECK(wrong == 0);
    }
}

TEST_CASE_TEMPLATE("rows of numbers of many sizes: within 2^-22 of the largest in each block", T, uint2,
                   int4) {
  // One row and two are products of integers (narrow_digits.hpp); a block of 8192 is too long for them, and
  // is summed in floats.
  for (const auto& [k, block] : {std::pair<int64_t, int64_t>{192, 16}, {320, 32}, {4096, 4096}, {8192, 8192}})
    for (const bool zeros : {false, true})
      for (const int64_t rows : {1, 2}) {
        CAPTURE(k);
        CAPTURE(rows);
        constexpr int64_t n = 100;
        const Matrix m = integers<T>({k, n, block}, true, zeros);
        const NarrowSize size = narrow_size(m.source);
        Storage data = Storage::make<std::byte>(size.data), points = Storage::make<uint8_t>(size.zeros);
        const NarrowMatrix b = narrow_pack(m.source, data.as<std::byte>(), points.as<uint8_t>());
        auto a = test::numbers<float>(rows * k);
        for (size_t i = 0; i < a.size(); ++i) {
          if (i / 16 % 5 == 3) a[i] = 0;
          else if (i % 3 == 0) a[i] = i % 2 == 0 ? 1.9999999f : -127.9999f;  // the largest digits
          else if (i % 3 == 1) a[i] = std::ldexp(a[i], static_cast<int>(i % 40) - 38);
        }
        std::vector<float> y(static_cast<size_t>(rows * n));
        GemmArgs<float> g;
        g.m = rows, g.n = n, g.k = k;
        g.a = a.data(), g.a_row = k;
        g.c = y.data(), g.c_row = n;
        narrow_gemm(g, b);
        double worst = 0;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0, bound = 0;
            for (int64_t begin = 0; begin < k; begin += block) {
              double most = 0, weights = 0;
              for (int64_t p = begin; p < begin + block; ++p) {
                const double x = static_cast<double>(a[static_cast<size_t>(i * k + p)]);
                const double w = m.numbers[static_cast<size_t>(p * n + j)];
                sum += x * w, most = std::max(most, std::abs(x)), weights += std::abs(w);
              }
              bound += most * weights;
            }
            worst = std::max(worst,
                             std::abs(static_cast<double>(y[static_cast<size_t>(i * n + j)]) - sum) / bound);
          }
        CHECK(worst <= (block <= 4096 ? 0x1p-22 : 0x1p-20));
      }
}

/// What narrow_gemm computes with rows rounded to bytes, in double: row x, column j; `terms` becomes the sum
/// of the terms' absolute values.
double rounded_product(const float* x, const Matrix& m, int64_t j, double& terms) {
  const NarrowSource& s = m.source;
  double sum = 0;
  terms = 0;
  for (int64_t begin = 0; begin < s.k; begin += s.block) {
    const int64_t end = std::min(begin + s.block, s.k);
    float largest = 0;
    for (int64_t k = begin; k < end; ++k) largest = std::max(largest, std::abs(x[k]));
    if (largest == 0) continue;
    const float raise = largest < 0x1p-60f ? 0x1p64f : 1.0f, factor = 127 / (largest * raise);
    for (int64_t k = begin; k < end; ++k) {
      const double q = std::nearbyint(static_cast<double>(x[k] * raise * factor));
      const double term =
          q * static_cast<double>(largest / 127) * m.numbers[static_cast<size_t>(k * s.n + j)];
      sum += term, terms += std::abs(term);
    }
  }
  return sum;
}

/// A packed matrix whose products may round their rows, and its memory.
struct Rounding {
  NarrowSize size;
  Storage data, zeros;
  NarrowMatrix b;
  explicit Rounding(const NarrowSource& source)
      : size(narrow_size(source)),
        data(Storage::make<std::byte>(size.data)),
        zeros(Storage::make<uint8_t>(size.zeros)),
        b(narrow_pack(source, data.as<std::byte>(), zeros.as<uint8_t>())) {
    b.round_activations = true;
  }
  bool rounds() const {
    return simd::dispatch([&]<class Arch>(Arch) { return narrow_rounds<Arch>(b); });
  }
  /// The product with dense rows a.
  std::vector<float> operator()(const float* a, int64_t rows) const {
    std::vector<float> y(static_cast<size_t>(rows * b.n));
    GemmArgs<float> g;
    g.m = rows, g.n = b.n, g.k = b.k;
    g.a = a, g.a_row = b.k;
    g.c = y.data(), g.c_row = b.n;
    narrow_gemm(g, b);
    return y;
  }
};

bool same_row(const std::vector<float>& x, int64_t i, const std::vector<float>& y, int64_t j, int64_t n) {
  return std::memcmp(x.data() + i * n, y.data() + j * n, static_cast<size_t>(n) * sizeof(float)) == 0;
}

TEST_CASE_TEMPLATE("rows rounded to bytes", T, int4, uint4, int8_t, uint8_t) {
  for (const Case& c : {Case{16, 17, 16},
                        {33, 70, 40},
                        {64, 33, 32},
                        {160, 100, 64},
                        {300, 40, 256},
                        {400, 40, 400},
                        {1040, 72, 520}})
    for (const bool with_zeros : {false, true}) {
      const Matrix m = integers<T>(c, true, with_zeros);
      const Rounding product(m.source);
      CAPTURE(c.k);
      CAPTURE(c.n);
      CAPTURE(with_zeros);
      constexpr int64_t most = 67;
      auto a = test::numbers<float>(most * c.k);
      for (int64_t k = 0; k < c.k; ++k) {
        a[static_cast<size_t>(k)] *= 1e-38f, a[static_cast<size_t>(c.k + k)] *= 1e30f;
        if (k / c.block == 0) a[static_cast<size_t>(2 * c.k + k)] = 0;
      }
      const std::vector<float> all = product(a.data(), most);
      int64_t wrong = 0;
      for (int64_t i = 0; i < most; ++i)
        for (int64_t j = 0; j < c.n; ++j) {
          double terms = 0;
          const double right = product.rounds() ? rounded_product(a.data() + i * c.k, m, j, terms) : 0;
          const double is = static_cast<double>(all[static_cast<size_t>(i * c.n + j)]);
          if (product.rounds() && !(std::abs(is - right) <= 1e-6 * terms + 1e-42 * static_cast<double>(c.k)))
            ++wrong;
        }
      CHECK(wrong == 0);
      if (!product.rounds()) continue;
      // A row's results do not depend on the others, nor on threads.
      for (const int64_t rows : {1, 2, 3, 5, 8, 9}) {
        const std::vector<float> some = product(a.data() + (most - rows) * c.k, rows);
        for (int64_t i = 0; i < rows; ++i)
          if (!same_row(some, i, all, most - rows + i, c.n)) ++wrong;
      }
      for (const int threads : {2, 5}) {
        ThreadPool pool(threads);
        const ScopedPool scope(pool);
        const std::vector<float> again = product(a.data(), most);
        for (int64_t i = 0; i < most; ++i)
          if (!same_row(again, i, all, i, c.n)) ++wrong;
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("rows rounded to bytes: transposed rows, factors and biases") {
  const Case c{64, 40, 32};
  const Matrix m = integers<uint4>(c, true, true);
  Rounding product(m.source);
  constexpr int64_t rows = 7;
  const auto a = test::numbers<float>(rows * c.k), bias = test::numbers<float>(c.n, -1, 1, 2);
  std::vector<float> across(a.size()), y(static_cast<size_t>(rows * c.n));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < c.k; ++k)
      across[static_cast<size_t>(k * rows + i)] = a[static_cast<size_t>(i * c.k + k)];
  GemmArgs<float> g;
  g.m = rows, g.n = c.n, g.k = c.k;
  g.a = across.data(), g.a_row = 1, g.a_col = rows;
  g.c = y.data(), g.c_row = c.n;
  g.alpha = 0.5f, g.col_bias = bias.data(), g.lo = 0;
  narrow_gemm(g, product.b);
  const std::vector<float> plain = product(a.data(), rows);
  int64_t wrong = 0;
  for (int64_t i = 0; i < rows * c.n; ++i) {
    const float right =
        std::max(0.0f, 0.5f * plain[static_cast<size_t>(i)] + bias[static_cast<size_t>(i % c.n)]);
    if (!(std::abs(y[static_cast<size_t>(i)] - right) <= 1e-5f * (1 + std::abs(right)))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("rows rounded to bytes: NaN and infinities make their row NaN", T, uint4, int8_t) {
  const Case c{64, 40, 32};
  const Matrix m = integers<T>(c, true, true);
  const Rounding product(m.source);
  if (!product.rounds()) return;
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const float x : {inf, -inf, std::nanf("")})
    for (const int64_t rows : {1, 3, 20}) {
      auto a = test::numbers<float>(rows * c.k);
      const std::vector<float> before = product(a.data(), rows);
      a[37] = x;
      const std::vector<float> y = product(a.data(), rows);
      for (int64_t j = 0; j < c.n; ++j) CHECK(std::isnan(y[static_cast<size_t>(j)]));
      for (int64_t i = 1; i < rows; ++i) CHECK(same_row(y, i, before, i, c.n));
    }
}

TEST_CASE_TEMPLATE("rows rounded to bytes are apart from exact ones by less than a hundredth", T, uint4,
                   int8_t) {
  for (const int64_t block : {16, 32, 128}) {
    CAPTURE(block);
    const Case c{1024, 48, block};
    constexpr int64_t rows = 4;
    const Matrix m = integers<T>(c, true, false);
    Rounding product(m.source);
    std::vector<float> a(static_cast<size_t>(rows * c.k));
    for (size_t i = 0; i < a.size(); ++i) {  // nearly normal
      uint32_t state = static_cast<uint32_t>(i) * 2654435761u + 12345u;
      for (int t = 0; t < 12; ++t) {
        state = state * 1664525u + 1013904223u;
        a[i] += static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
      }
    }
    const std::vector<float> rounded = product(a.data(), rows);
    product.b.round_activations = false;
    const std::vector<float> exact = product(a.data(), rows);
    double apart = 0, all = 0;
    for (size_t i = 0; i < exact.size(); ++i)
      apart += std::pow(static_cast<double>(rounded[i] - exact[i]), 2),
          all += std::pow(static_cast<double>(exact[i]), 2);
    CHECK(std::sqrt(apart / all) <= 0.01);
    product.b.round_activations = true;
    CHECK(std::sqrt(apart / all) >= (product.rounds() ? 0.002 : 0));
  }
}

TEST_CASE_TEMPLATE("products of halves", T, float16, bfloat16) {
  for (const Case& c : cases)
    for (const bool transposed : {false, true}) check(halves<T>(c, transposed));
}

}  // namespace
