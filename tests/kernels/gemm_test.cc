#include "tenon/kernels/gemm/gemm.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tenon/kernels/gemm/quant_gemm.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

std::mt19937 random_bits(7);

template <class T>
std::vector<T> numbers(int64_t count) {
  std::vector<T> v(static_cast<size_t>(count));
  for (T& x : v) {
    if constexpr (std::is_floating_point_v<T>)
      x = static_cast<T>(static_cast<int>(random_bits() % 2001) - 1000) / T{500};
    else x = static_cast<T>(random_bits() * 0x10001ull);
  }
  return v;
}

// Sums are made in double for float, and wrap for integers.
template <class T>
using Wide = std::conditional_t<
    std::is_same_v<T, float>, double,
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type>;

// A times B as the definition says, before factors and biases, and the sizes of the terms of floating-point
// sums, to which their errors are held; (M,N) each.
template <class T>
struct Product {
  std::vector<Wide<T>> sums;
  std::vector<double> sizes;

  explicit Product(const GemmArgs<T>& g)
      : sums(static_cast<size_t>(g.m * g.n)), sizes(std::is_floating_point_v<T> ? sums.size() : 0) {
    std::vector<Wide<T>> row(static_cast<size_t>(g.n));
    for (int64_t p = 0; p < g.k; ++p) {
      for (int64_t j = 0; j < g.n; ++j)
        row[static_cast<size_t>(j)] = static_cast<Wide<T>>(g.b[p * g.b_row + j * g.b_col]);
      for (int64_t i = 0; i < g.m; ++i) {
        const auto a = static_cast<Wide<T>>(g.a[i * g.a_row + p * g.a_col]);
        Wide<T>* const sum = sums.data() + i * g.n;
        for (int64_t j = 0; j < g.n; ++j) sum[j] += a * row[static_cast<size_t>(j)];
        if constexpr (std::is_floating_point_v<T>) {
          double* const size = sizes.data() + i * g.n;
          for (int64_t j = 0; j < g.n; ++j)
            size[j] += std::abs(static_cast<double>(a) * static_cast<double>(row[static_cast<size_t>(j)]));
        }
      }
    }
  }
};

// That C is what `product` makes, C before having been `old`.
template <class T>
void check(const GemmArgs<T>& g, const Product<T>& product, const std::vector<T>& old, int64_t c_row) {
  int64_t wrong = 0;
  const auto alpha = static_cast<Wide<T>>(g.alpha), beta = static_cast<Wide<T>>(g.beta);
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      const auto at = static_cast<size_t>(i * g.n + j), at_c = static_cast<size_t>(i * c_row + j);
      Wide<T> x = g.alpha != T{0} ? alpha * product.sums[at] : Wide<T>{0};
      T d{};
      if (g.beta != T{0}) d = g.d == g.c ? old[at_c] : g.d[i * g.d_row + j * g.d_col];
      x += beta * static_cast<Wide<T>>(d);
      if (g.row_bias) x += static_cast<Wide<T>>(g.row_bias[i]);
      if (g.col_bias) x += static_cast<Wide<T>>(g.col_bias[j]);
      const T got = g.c[at_c];
      if constexpr (std::is_floating_point_v<T>) {
        const T want = static_cast<T>(std::min<Wide<T>>(std::max<Wide<T>>(x, g.lo), g.hi));
        const double terms = product.sizes[at] + std::abs(static_cast<double>(d)),
                     size = terms * std::abs(static_cast<double>(g.alpha)) + 1;
        if (!(std::abs(got - want) <= 8 * std::numeric_limits<T>::epsilon() * size)) ++wrong;
      } else {
        if (got != static_cast<T>(x)) ++wrong;
      }
    }
  CHECK(wrong == 0);
  // Nothing outside of C is written.
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = g.n; j < c_row; ++j)
      if (g.c[i * c_row + j] != old[static_cast<size_t>(i * c_row + j)]) ++wrong;
  CHECK(wrong == 0);
}
template <class T>
void check(const GemmArgs<T>& g, const std::vector<T>& old, int64_t c_row) {
  check(g, Product<T>(g), old, c_row);
}

struct Extents {
  int64_t m, n, k;
};
const Extents extents[] = {
    {1, 1, 1},     {1, 1, 0},      {3, 5, 0},    {0, 4, 3},      {4, 0, 3},    {2, 3, 4},     {1, 17, 33},
    {1, 100, 7},   {17, 1, 33},    {5, 4, 70},   {4, 37, 19},    {3, 70, 300}, {7, 13, 11},   {8, 48, 5},
    {9, 49, 257},  {14, 31, 64},   {15, 33, 3},  {16, 65, 129},  {29, 97, 40}, {33, 50, 520}, {64, 64, 64},
    {65, 200, 31}, {130, 20, 17},  {70, 300, 9}, {21, 816, 400}, {2, 1100, 6}, {9, 20, 1030}, {40, 64, 512},
    {1, 64, 0},    {1, 530, 1030}, {2, 65, 3},   {3, 70, 7500},  {4, 300, 2}};

struct Form {
  const char* name;
  bool a_transposed, b_transposed, pack_a, pack_b;
  int spread;  // extra stride between neighbours
};
const Form forms[] = {
    {"plain", false, false, false, false, 0},       {"a transposed", true, false, false, false, 0},
    {"b transposed", false, true, false, false, 0}, {"both transposed", true, true, false, false, 0},
    {"a packed", false, false, true, false, 0},     {"b packed", false, true, false, true, 0},
    {"both packed", true, false, true, true, 0},    {"spread", false, false, false, false, 1}};

// Operands live in exactly sized vectors, so that a sanitizer sees a read past their ends.
template <class Arch, class T>
void test_products() {
  for (const Extents& e : extents)
    for (const Form& form : forms) {
      CAPTURE(e.m);
      CAPTURE(e.n);
      CAPTURE(e.k);
      CAPTURE(form.name);
      GemmArgs<T> g;
      g.m = e.m, g.n = e.n, g.k = e.k;
      const int64_t unit = 1 + form.spread;
      g.a_col = form.a_transposed ? e.m : unit, g.a_row = form.a_transposed ? 1 : e.k * unit + form.spread;
      g.b_col = form.b_transposed ? e.k : unit, g.b_row = form.b_transposed ? 1 : e.n * unit + form.spread;
      const auto a = numbers<T>(e.m * e.k == 0 ? 0 : (e.m - 1) * g.a_row + (e.k - 1) * g.a_col + 1);
      const auto b = numbers<T>(e.n * e.k == 0 ? 0 : (e.k - 1) * g.b_row + (e.n - 1) * g.b_col + 1);
      const int64_t c_row = e.n + form.spread;
      const auto old = numbers<T>(e.m * c_row);
      const auto d = numbers<T>(e.m * e.n), row_bias = numbers<T>(e.m), col_bias = numbers<T>(e.n);
      auto c = old;
      g.a = a.data(), g.b = b.data(), g.c = c.data(), g.c_row = c_row;
      std::vector<T> packed_a(static_cast<size_t>(packed_a_size_impl<Arch, T>(e.m, e.k)));
      std::vector<T> packed_b(static_cast<size_t>(packed_b_size_impl<Arch, T>(e.k, e.n)));
      GemmArgs<T> run = g;
      if (form.pack_a) pack_a_impl<Arch>(g, packed_a.data()), run.packed_a = packed_a.data(), run.a = nullptr;
      if (form.pack_b) pack_b_impl<Arch>(g, packed_b.data()), run.packed_b = packed_b.data(), run.b = nullptr;
      const Product<T> product(g);
      const auto with = [&](auto set) {
        GemmArgs<T> r = run, full = g;
        set(r), set(full);
        c = old;
        gemm_impl<Arch>(r);
        check(full, product, old, c_row);
      };
      with([&](auto&) {});
      with([&](auto& r) { r.row_bias = row_bias.data(), r.lo = 0; });
      with([&](auto& r) { r.col_bias = col_bias.data(), r.hi = 1; });
      with([&](auto& r) { r.alpha = T(3), r.beta = T(2), r.d = c.data(), r.d_row = c_row; });
      with([&](auto& r) { r.beta = T(1), r.d = d.data(), r.d_row = e.n, r.row_bias = row_bias.data(); });
      with([&](auto& r) { r.beta = T(5), r.d = d.data(), r.d_row = 1, r.d_col = 0; });
      with([&](auto& r) { r.alpha = T(0), r.beta = T(5), r.d = d.data(), r.d_row = 0, r.d_col = 1; });
    }
}

}  // namespace

TEST_CASE("gemm: odd extents, strides, packing and finishing, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
    test_products<Arch, float>();
    test_products<Arch, double>();
    test_products<Arch, int32_t>();
    test_products<Arch, uint32_t>();
    test_products<Arch, int64_t>();
    test_products<Arch, uint64_t>();
  });
}

TEST_CASE("gemm: blocks of K and chunks of A") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const Extents& e : {Extents{40, 52, 5000}, Extents{300, 60, 4500}, Extents{6, 210, 1500}}) {
      const auto a = numbers<float>(e.m * e.k), b = numbers<float>(e.k * e.n),
                 old = numbers<float>(e.m * e.n);
      auto c = old;
      GemmArgs<float> g;
      g.m = e.m, g.n = e.n, g.k = e.k, g.a = a.data(), g.a_row = e.k, g.b = b.data(), g.b_row = e.n;
      g.c = c.data(), g.c_row = e.n, g.alpha = 2, g.beta = -1, g.d = c.data(), g.d_row = e.n;
      gemm_impl<Arch>(g);
      check(g, old, e.n);
    }
  });
}

TEST_CASE("gemm: batches") {
  simd::dispatch([]<class Arch>(Arch) {
    // (2,3,m,k) x (3,k,n), with the items of B shared along the first axis.
    const int64_t m = 5, n = 21, k = 9;
    const int64_t extents[] = {2, 3}, a_strides[] = {3 * m * k, m * k}, b_strides[] = {0, k * n},
                  c_strides[] = {3 * m * n, m * n};
    const auto a = numbers<float>(6 * m * k), b = numbers<float>(3 * k * n);
    std::vector<float> c(6 * m * n);
    GemmArgs<float> g;
    g.m = m, g.n = n, g.k = k, g.a = a.data(), g.a_row = k, g.b = b.data(), g.b_row = n, g.c = c.data(),
    g.c_row = n;
    g.batch = {2, extents, a_strides, b_strides, c_strides, nullptr};
    gemm_impl<Arch>(g);
    for (int64_t item = 0; item < 6; ++item) {
      GemmArgs<float> one = g;
      one.a += item * m * k, one.b += item % 3 * k * n, one.c += item * m * n;
      check(one, std::vector<float>(m * n), n);
    }
    // A shared B, which becomes one tall product.
    const int64_t items[] = {6}, a_one[] = {m * k}, none[] = {0}, c_one[] = {m * n};
    g.batch = {1, items, a_one, none, c_one, nullptr};
    gemm_impl<Arch>(g);
    GemmArgs<float> tall = g;
    tall.m = 6 * m;
    check(tall, std::vector<float>(6 * m * n), n);
    // No items.
    const int64_t no_items[] = {0};
    g.batch = {1, no_items, a_one, none, c_one, nullptr};
    gemm_impl<Arch>(g);
  });
}

TEST_CASE("gemm: NaN and infinity go through; factors of zero keep operands from being read") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  simd::dispatch([=]<class Arch>(Arch) {
    for (int64_t n : {1, 3, 20, 60}) {
      const int64_t m = 9, k = 4;
      std::vector<float> a(m * k, 0.0f), b(static_cast<size_t>(k * n), 1.0f),
          c(static_cast<size_t>(m * n), nan);
      a[0] = nan;
      a[k] = inf;
      b[0] = 0;
      GemmArgs<float> g;
      g.m = m, g.n = n, g.k = k, g.a = a.data(), g.a_row = k, g.b = b.data(), g.b_row = n, g.c = c.data(),
      g.c_row = n;
      g.lo = 0;  // Relu keeps NaN
      g.d = c.data(), g.d_row = n;
      gemm_impl<Arch>(g);
      CHECK(std::isnan(c[0]));
      CHECK(std::isnan(c[static_cast<size_t>(n)]));  // infinity times zero
      if (n > 1) {
        CHECK(std::isnan(c[static_cast<size_t>(n - 1)]));
        CHECK(c[static_cast<size_t>(2 * n - 1)] == inf);
      }
      for (size_t e = static_cast<size_t>(2 * n); e < c.size(); ++e) CHECK(c[e] == 0);
      g.alpha = 0;
      gemm_impl<Arch>(g);
      for (float x : c) CHECK(x == 0);
    }
  });
}

namespace {

// That 2 and 5 threads make the same bits of the product that one thread made.
template <class Arch>
void check_with_threads(GemmArgs<float> g, const std::vector<float>& serial) {
  std::vector<float> threaded(serial.size());
  g.c = threaded.data();
  for (int threads : {2, 5}) {
    ThreadPool pool(threads);
    const ScopedPool scope(pool);
    gemm_impl<Arch>(g);
    CHECK(serial == threaded);
  }
}

}  // namespace

TEST_CASE("gemm: the same bits for any number of threads") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const Extents& e :
         {Extents{130, 250, 700}, Extents{1, 9000, 300}, Extents{1, 700, 3000}, Extents{3, 4000, 200},
          Extents{4, 257, 4100}, Extents{700, 150, 90}, Extents{1024, 52, 900}})
      for (const bool b_transposed : {false, true})
        for (const bool packed : {false, true}) {
          const auto a = numbers<float>(e.m * e.k), b = numbers<float>(e.k * e.n);
          std::vector<float> packed_b, serial(static_cast<size_t>(e.m * e.n));
          GemmArgs<float> g;
          g.m = e.m, g.n = e.n, g.k = e.k, g.a = a.data(), g.a_row = e.k, g.b = b.data();
          g.b_row = b_transposed ? 1 : e.n, g.b_col = b_transposed ? e.k : 1;
          g.c = serial.data(), g.c_row = e.n;
          if (packed) {
            packed_b.resize(static_cast<size_t>(packed_b_size_impl<Arch, float>(e.k, e.n)));
            pack_b_impl<Arch>(g, packed_b.data());
            g.packed_b = packed_b.data();
          }
          gemm_impl<Arch>(g);
          check_with_threads<Arch>(g, serial);
        }
  });
}

TEST_CASE("gemm: batches of rows, columns and small products are cut for any number of threads") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const int64_t items : {1, 3, 40})
      for (const Extents& e : {Extents{1, 700, 90}, Extents{700, 1, 90}, Extents{4, 130, 200},
                               Extents{130, 3, 200}, Extents{6, 9, 33}, Extents{5, 1, 64}})
        for (const bool a_transposed : {false, true})
          for (const bool b_transposed : {false, true}) {
            const int64_t a_size = e.m * e.k, b_size = e.k * e.n, c_size = e.m * e.n;
            const auto a = numbers<float>(items * a_size), b = numbers<float>(items * b_size),
                       row_bias = numbers<float>(e.m), col_bias = numbers<float>(e.n),
                       d = numbers<float>(c_size);
            std::vector<float> serial(static_cast<size_t>(items * c_size));
            GemmArgs<float> g;
            g.m = e.m, g.n = e.n, g.k = e.k, g.a = a.data(), g.b = b.data();
            g.a_row = a_transposed ? 1 : e.k, g.a_col = a_transposed ? e.m : 1;
            g.b_row = b_transposed ? 1 : e.n, g.b_col = b_transposed ? e.k : 1;
            g.c = serial.data(), g.c_row = e.n;
            g.d = d.data(), g.d_row = e.n, g.beta = 2;
            g.row_bias = row_bias.data(), g.col_bias = col_bias.data();
            g.batch = {1, &items, &a_size, &b_size, &c_size, nullptr};
            gemm_impl<Arch>(g);
            for (int64_t item = 0; item < items; ++item) {
              GemmArgs<float> one = g;
              one.a += item * a_size, one.b += item * b_size, one.c += item * c_size;
              check(one, std::vector<float>(static_cast<size_t>(c_size)), e.n);
            }
            check_with_threads<Arch>(g, serial);
          }
  });
}

namespace {

enum class Numbers { any, extreme, small, bell };

// Bytes of any kind; the least and greatest ones; small ones, whose pairs of products fit into 16 bits; or
// small ones and a few great ones.
std::vector<uint8_t> bytes(int64_t count, Numbers kind, bool is_signed) {
  auto v = numbers<uint8_t>(count);
  std::mt19937 random(static_cast<unsigned>(count));
  constexpr uint8_t ends[] = {0, 127, 128, 255};
  for (uint8_t& x : v) {
    if (kind == Numbers::extreme) x = ends[x % 4];
    const bool great = kind == Numbers::bell && random() % 300 == 0;
    if (great) x = ends[x % 4];
    else if (kind == Numbers::small || kind == Numbers::bell)
      x = static_cast<uint8_t>(x % 129 + (is_signed ? 192 : 64));
  }
  return v;
}

int32_t number(const QuantMatrix& q, const void* data, int64_t index) {
  if (data == nullptr) return 0;
  return q.is_signed ? int{static_cast<const int8_t*>(data)[index]}
                     : int{static_cast<const uint8_t*>(data)[index]};
}

// Elements of the product that differ from the definition; `a` and `b` are offsets of the operands.
int64_t wrong_sums(const QuantGemmArgs& g, int64_t a, int64_t b, const int32_t* c) {
  std::vector<uint32_t> sums(static_cast<size_t>(g.m * g.n)), row(static_cast<size_t>(g.n));
  std::vector<int32_t> b_zeros(row.size());
  for (int64_t j = 0; j < g.n; ++j)
    b_zeros[static_cast<size_t>(j)] = number(g.b, g.b.zero, j * g.b.zero_step);
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      uint32_t& sum = sums[static_cast<size_t>(i * g.n + j)];
      if (g.row_bias) sum += static_cast<uint32_t>(g.row_bias[i]);
      if (g.col_bias) sum += static_cast<uint32_t>(g.col_bias[j]);
    }
  for (int64_t p = 0; p < g.k; ++p) {
    for (int64_t j = 0; j < g.n; ++j) {
      const auto at = static_cast<size_t>(j);
      row[at] = static_cast<uint32_t>(number(g.b, g.b.data, b + p * g.b.row + j * g.b.col) - b_zeros[at]);
    }
    for (int64_t i = 0; i < g.m; ++i) {
      const auto x = static_cast<uint32_t>(number(g.a, g.a.data, a + i * g.a.row + p * g.a.col) -
                                           number(g.a, g.a.zero, i * g.a.zero_step));
      uint32_t* const sum = sums.data() + i * g.n;
      for (int64_t j = 0; j < g.n; ++j) sum[j] += x * row[static_cast<size_t>(j)];
    }
  }
  int64_t wrong = 0;
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j)
      wrong += c[i * g.c_row + j] != static_cast<int32_t>(sums[static_cast<size_t>(i * g.n + j)]);
  return wrong;
}

}  // namespace

TEST_CASE("quant_gemm: signs, zero points and packing, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const Extents& e : extents)
      for (const Numbers kind : {Numbers::any, Numbers::extreme, Numbers::small, Numbers::bell})
        for (int form = 0; form < 16; ++form) {
          CAPTURE(e.m);
          CAPTURE(e.n);
          CAPTURE(e.k);
          CAPTURE(form);
          const bool transposed = form & 4, packed = form & 8;
          QuantGemmArgs g;
          g.m = e.m, g.n = e.n, g.k = e.k;
          const auto a = bytes(e.m * e.k, kind == Numbers::any ? kind : Numbers::extreme, false),
                     b = bytes(e.k * e.n, kind, form & 2);
          const auto a_zero = numbers<uint8_t>(e.m + 1), b_zero = numbers<uint8_t>(e.n + 1);
          const auto row_bias = numbers<int32_t>(e.m), col_bias = numbers<int32_t>(e.n);
          g.a = {a.data(),        transposed ? 1 : e.k, transposed ? e.m : 1,
                 (form & 1) != 0, a_zero.data(),        form % 3 == 0};
          g.b = {b.data(),        transposed ? 1 : e.n, transposed ? e.k : 1,
                 (form & 2) != 0, b_zero.data(),        form % 5 == 0};
          if (form == 7) g.a.zero = g.b.zero = nullptr;
          if (form % 2) g.row_bias = row_bias.data();
          if (form % 3) g.col_bias = col_bias.data();
          std::vector<int32_t> c(static_cast<size_t>(e.m * e.n));
          g.c = c.data(), g.c_row = e.n;
          std::vector<int32_t> packed_b(static_cast<size_t>(quant_packed_b_size_impl<Arch>(g)));
          QuantGemmArgs run = g;
          if (packed) {
            quant_pack_b_impl<Arch>(g, packed_b.data());
            run.packed_b = packed_b.data();
            run.b.data = nullptr;
          }
          quant_gemm_impl<Arch>(run);
          CHECK(wrong_sums(g, 0, 0, c.data()) == 0);

          const auto scale = numbers<float>(e.n), bias = numbers<float>(e.n), d = numbers<float>(e.m * e.n);
          const SumScaling floats{.scale = scale.data(),
                                  .bias = form % 2 ? bias.data() : nullptr,
                                  .d = form % 3 ? d.data() : nullptr,
                                  .d_row = e.n,
                                  .lo = form % 5 ? no_lower_bound<float> : 0};
          std::vector<int32_t> y(c.size());
          run.c = y.data(), run.floats = &floats;
          quant_gemm_impl<Arch>(run);
          int64_t wrong = 0;
          for (int64_t k = 0; k < e.m * e.n; ++k) {
            const auto at = static_cast<size_t>(k), column = static_cast<size_t>(k % e.n);
            const float product = static_cast<float>(c[at]) * scale[column],
                        shift = (floats.bias ? bias[column] : 0) + (floats.d ? d[at] : 0);
            const float expected = std::max(product + shift, floats.lo);
            wrong += std::abs(std::bit_cast<float>(y[at]) - expected) > 1e-6f * (std::abs(product) + 8);
          }
          CHECK(wrong == 0);
        }
  });
}

TEST_CASE("quant_gemm: unsigned rows in words and weights around zero, which need no packing of rows") {
  simd::dispatch([]<class Arch>(Arch) {
    constexpr int64_t items = 2;
    for (const Numbers kind : {Numbers::extreme, Numbers::bell})
      for (const int64_t m : {9, 37})
        for (const int64_t n : {1, 50, 64, 769})
          for (const int64_t k : {4, 60, 700})
            for (const int64_t lead : {0, 1, 4}) {
              CAPTURE(m);
              CAPTURE(n);
              CAPTURE(k);
              CAPTURE(lead);
              const int64_t row = k + (m == 9 ? 4 : 0), a_step = m * row, c_step = m * n, none = 0;
              const auto a = bytes(lead + items * a_step, Numbers::extreme, false),
                         b = bytes(k * n, kind, true);
              const uint8_t a_zero = 130;
              const auto row_bias = numbers<int32_t>(m);
              std::vector<int32_t> c(static_cast<size_t>(items * c_step)), threaded = c;
              QuantGemmArgs g;
              g.m = m, g.n = n, g.k = k;
              g.a = {a.data() + lead, row, 1, false, n == 64 ? nullptr : &a_zero, 0};
              g.b = {b.data(), n, 1, true, nullptr, 0};
              if (n % 2 != 0) g.row_bias = row_bias.data();
              g.c = c.data(), g.c_row = n;
              g.batch = {1, &items, &a_step, &none, &c_step, nullptr};
              std::vector<int32_t> packed_b(static_cast<size_t>(quant_packed_b_size_impl<Arch>(g)));
              if (k != 60) {
                quant_pack_b_impl<Arch>(g, packed_b.data());
                g.packed_b = packed_b.data();
              }
              quant_gemm_impl<Arch>(g);
              for (int64_t item = 0; item < items; ++item)
                CHECK(wrong_sums(g, item * a_step, 0, c.data() + item * c_step) == 0);
              ThreadPool pool(3);
              const ScopedPool scope(pool);
              g.c = threaded.data();
              quant_gemm_impl<Arch>(g);
              CHECK(c == threaded);
            }
  });
}

TEST_CASE("quant_gemm: batches, blocks of K and threads") {
  simd::dispatch([]<class Arch>(Arch) {
    // (2,3,m,k) x (3,k,n), with the items of B shared along the first axis; and one operand for all items.
    const int64_t m = 5, n = 70, k = 1700;
    const int64_t extents[] = {2, 3}, a_strides[] = {3 * m * k, m * k}, b_strides[] = {0, k * n},
                  none[] = {0, 0}, c_strides[] = {3 * m * n, m * n};
    const auto a = numbers<uint8_t>(6 * m * k), b = numbers<uint8_t>(3 * k * n);
    const uint8_t a_zero = 3, b_zero = 200;
    std::vector<int32_t> serial(6 * m * n), c = serial;
    QuantGemmArgs g;
    g.m = m, g.n = n, g.k = k, g.a = {a.data(), k, 1, false, &a_zero, 0},
    g.b = {b.data(), n, 1, true, &b_zero, 0}, g.c = serial.data(), g.c_row = n;
    for (const int64_t* of_a : {a_strides, none})
      for (const int64_t* of_b : {b_strides, none}) {
        g.batch = {2, extents, of_a, of_b, c_strides, nullptr};
        g.c = serial.data();
        quant_gemm_impl<Arch>(g);
        for (int64_t item = 0; item < 6; ++item)
          CHECK(wrong_sums(g, of_a == none ? 0 : item * m * k, of_b == none ? 0 : item % 3 * k * n,
                           serial.data() + item * m * n) == 0);
        for (int threads : {2, 5}) {
          ThreadPool pool(threads);
          const ScopedPool scope(pool);
          c.assign(c.size(), 0);
          g.c = c.data();
          quant_gemm_impl<Arch>(g);
          CHECK(serial == c);
        }
      }
  });
}

TEST_CASE("quant_gemm: enough rows that each thread packs B for itself") {
  simd::dispatch([]<class Arch>(Arch) {
    const int64_t m = 1100, n = 101, k = 70, one = 1, step = k * n;
    const auto a = numbers<uint8_t>(m * k), b = numbers<uint8_t>(k * n);
    const uint8_t a_zero = 3, b_zero = 200;
    std::vector<int32_t> serial(m * n), c = serial;
    QuantGemmArgs g;
    g.m = m, g.n = n, g.k = k, g.a = {a.data(), k, 1, false, &a_zero, 0},
    g.b = {b.data(), n, 1, true, &b_zero, 0}, g.c = serial.data(), g.c_row = n;
    quant_gemm_impl<Arch>(g);
    CHECK(wrong_sums(g, 0, 0, serial.data()) == 0);
    std::vector<int32_t> packed_b(static_cast<size_t>(quant_packed_b_size_impl<Arch>(g)));
    quant_pack_b_impl<Arch>(g, packed_b.data());
    for (int threads : {2, 5})
      for (const bool packed : {false, true})
        for (int rank : {0, 1}) {
          ThreadPool pool(threads);
          const ScopedPool scope(pool);
          g.batch = {rank, &one, &step, &step, &step, nullptr};
          g.packed_b = packed ? packed_b.data() : nullptr;
          c.assign(c.size(), 0);
          g.c = c.data();
          quant_gemm_impl<Arch>(g);
          CHECK(serial == c);
        }
  });
}

namespace {
std::atomic<int64_t> allocations{0};
}

// Every aligned allocation of this program is a kernel's.
void* operator new(std::size_t size, std::align_val_t align) {
  ++allocations;
  void* p = std::aligned_alloc(static_cast<std::size_t>(align), (size + 63) / 64 * 64);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::aligned_alloc(static_cast<std::size_t>(align), (size + 63) / 64 * 64);
}
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }

TEST_CASE("gemm: a second call takes nothing from the heap") {
  const auto a = numbers<float>(200 * 300), b = numbers<float>(300 * 500);
  std::vector<float> c(200 * 500);
  for (const Extents& e :
       {Extents{200, 500, 300}, Extents{1, 500, 300}, Extents{3, 400, 300}, Extents{200, 2, 300}}) {
    GemmArgs<float> g;
    g.m = e.m, g.n = e.n, g.k = e.k, g.a = a.data(), g.a_row = e.k, g.b = b.data(), g.b_row = e.n;
    g.c = c.data(), g.c_row = e.n;
    gemm(g);
    const int64_t before = allocations;
    gemm(g);
    CHECK(allocations == before);
  }
}
