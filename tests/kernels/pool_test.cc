#include "tenon/kernels/conv/pool.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tenon/base/types.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

using Axes = std::vector<int64_t>;

struct Case {
  const char* name;
  int64_t planes;
  Axes in, kernel, strides, dilations, pads_begin, pads_end;
  Axes extra = {};  // further output cells, as ceil_mode gives
};
const Case cases[] = {
    {"1-d", 3, {17}, {3}, {1}, {1}, {0}, {0}},
    {"1-d strided, padded", 2, {50}, {4}, {3}, {2}, {3}, {2}},
    {"2-d 2x2", 4, {6, 40}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {"2-d 3x3 of ResNet", 2, {23, 37}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {"2-d asymmetric", 2, {9, 11}, {3, 2}, {1, 2}, {2, 3}, {1, 0}, {2, 3}},
    {"2-d ceil", 1, {7, 8}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {0, 1}},
    {"2-d ceil, padded", 1, {5, 5}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"2-d global", 5, {7, 7}, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"2-d global, few cells", 3, {1, 3}, {1, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"2-d global, many cells", 2, {13, 29}, {13, 29}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"2-d rows of several vectors", 2, {5, 150}, {3, 5}, {1, 1}, {1, 2}, {1, 3}, {1, 0}},
    {"2-d width 1", 2, {30, 1}, {3, 1}, {2, 1}, {1, 1}, {1, 0}, {1, 0}},
    {"2-d inner identity", 2, {10, 9}, {3, 1}, {1, 1}, {1, 1}, {1, 0}, {1, 0}},
    {"2-d wide kernel stride", 1, {5, 70}, {2, 5}, {2, 7}, {1, 1}, {0, 0}, {0, 0}},
    {"2-d long windows of many rows", 2, {600, 3}, {40, 2}, {1, 1}, {1, 1}, {3, 0}, {0, 1}},
    {"2-d padding beyond proportion", 1, {2, 2}, {50, 50}, {49, 49}, {1, 1}, {49, 49}, {49, 49}},
    {"3-d", 2, {5, 6, 19}, {2, 3, 3}, {2, 1, 2}, {1, 2, 1}, {1, 0, 1}, {0, 1, 1}},
    {"3-d whole vectors", 2, {9, 11, 64}, {3, 3, 1}, {2, 2, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 0}},
    {"3-d whole vectors, ceil",
     1,
     {7, 8, 128},
     {3, 3, 1},
     {2, 2, 1},
     {1, 1, 1},
     {0, 0, 0},
     {0, 0, 0},
     {0, 1, 0}},
    {"4-d", 1, {3, 4, 3, 5}, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 0, 1}, {0, 0, 1, 0}},
    {"3-d whole vectors of many", 1, {70, 90, 16}, {4, 5, 1}, {1, 1, 1}, {1, 2, 1}, {0, 3, 0}, {2, 0, 0}},
    {"2-d nothing inside", 2, {0, 16}, {2, 1}, {1, 1}, {1, 1}, {1, 0}, {1, 0}},
    {"2-d nothing inside, rows", 2, {0, 5}, {2, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 0}},
    {"no planes", 0, {5, 5}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
};

std::mt19937 random_bits(5);

template <class T>
std::vector<T> numbers(int64_t count) {
  std::vector<T> v(static_cast<size_t>(count));
  for (T& x : v) {
    const int n = static_cast<int>(random_bits() % 255) - 127;
    if constexpr (std::is_integral_v<T>) x = static_cast<T>(n);
    else
      x = random_bits() % 16 ? static_cast<T>(static_cast<float>(n) / 8)
                             : std::numeric_limits<T>::quiet_NaN();
  }
  return v;
}

// All windows by definition: the cells inside, and how many cells inside of the padding there are.
template <class F>
void windows(const Case& c, const Axes& out, F f) {
  const int rank = static_cast<int>(c.in.size());
  int64_t out_cells = 1, kernel_cells = 1;
  for (int d = 0; d < rank; ++d) out_cells *= out[d], kernel_cells *= c.kernel[d];
  for (int64_t o = 0; o < out_cells; ++o) {
    std::vector<int64_t> cells;
    int64_t in_padding = 0;
    for (int64_t k = 0; k < kernel_cells; ++k) {
      int64_t flat = 0, stride = 1, o_rest = o, k_rest = k;
      bool inside = true, padded = true;
      for (int d = rank - 1; d >= 0; --d) {
        const int64_t at =
            o_rest % out[d] * c.strides[d] + k_rest % c.kernel[d] * c.dilations[d] - c.pads_begin[d];
        o_rest /= out[d], k_rest /= c.kernel[d];
        inside = inside && at >= 0 && at < c.in[d];
        padded = padded && at < c.in[d] + c.pads_end[d];
        flat += at * stride, stride *= c.in[d];
      }
      if (inside) cells.push_back(flat);
      in_padding += padded;
    }
    f(o, cells, in_padding);
  }
}

Axes out_extents(const Case& c) {
  Axes out(c.in.size());
  for (size_t d = 0; d < out.size(); ++d)
    out[d] =
        (c.in[d] + c.pads_begin[d] + c.pads_end[d] - (c.kernel[d] - 1) * c.dilations[d] - 1) / c.strides[d] +
        1 + (c.extra.empty() ? 0 : c.extra[d]);
  return out;
}

template <class T>
bool same(T a, T b) {
  if constexpr (!std::is_integral_v<T>)
    if (a != a && b != b) return true;
  return a == b;
}

int64_t column_major(const Axes& in, int64_t flat) {
  int64_t place = 0, stride = 1;
  Axes at(in.size());
  for (size_t d = in.size(); d-- > 0; flat /= in[d]) at[d] = flat % in[d];
  for (size_t d = 0; d < in.size(); ++d) place += at[d] * stride, stride *= in[d];
  return place;
}

template <class Arch, class T>
void test_max(const Case& c) {
  const Axes out = out_extents(c);
  int64_t in_cells = 1, out_cells = 1;
  for (size_t d = 0; d < out.size(); ++d) in_cells *= c.in[d], out_cells *= out[d];
  const auto x = numbers<T>(c.planes * in_cells);
  std::vector<T> want(static_cast<size_t>(c.planes * out_cells)), y = want;
  std::vector<int64_t> want_at(want.size()), indices(want.size());
  for (int64_t p = 0; p < c.planes; ++p)
    windows(c, out, [&](int64_t o, const std::vector<int64_t>& cells, int64_t) {
      int64_t best = -1;
      for (int64_t cell : cells) {
        const T v = x[static_cast<size_t>(p * in_cells + cell)];
        const T most = best < 0 ? v : x[static_cast<size_t>(p * in_cells + best)];
        if (best < 0 || v > most || (most != most && v == v)) best = cell;
      }
      T none;
      if constexpr (std::is_integral_v<T>) none = std::numeric_limits<T>::lowest();
      else none = std::numeric_limits<T>::quiet_NaN();
      want[static_cast<size_t>(p * out_cells + o)] =
          best < 0 ? none : x[static_cast<size_t>(p * in_cells + best)];
      want_at[static_cast<size_t>(p * out_cells + o)] = best < 0 ? -1 : p * in_cells + best;
    });
  PoolArgs<T> g;
  g.rank = static_cast<int>(c.in.size()), g.planes = c.planes, g.in = c.in.data(), g.out = out.data();
  g.kernel = c.kernel.data(), g.strides = c.strides.data(), g.dilations = c.dilations.data();
  g.pads_begin = c.pads_begin.data(), g.pads_end = c.pads_end.data(), g.x = x.data(), g.y = y.data();
  int64_t wrong = 0;
  max_pool_impl<Arch>(g);
  for (size_t i = 0; i < y.size(); ++i) wrong += !same(y[i], want[i]);
  CHECK(wrong == 0);
  for (bool column : {false, true}) {
    g.indices = indices.data(), g.column_major = column;
    max_pool_impl<Arch>(g);
    for (size_t i = 0; i < y.size(); ++i) {
      const int64_t plane = static_cast<int64_t>(i) / out_cells * in_cells;
      const int64_t place =
          want_at[i] < 0 || !column ? want_at[i] : plane + column_major(c.in, want_at[i] - plane);
      wrong += !same(y[i], want[i]) || indices[i] != place;
    }
    CHECK(wrong == 0);
  }
}

template <class Arch, class T>
void test_average(const Case& c) {
  const Axes out = out_extents(c);
  int64_t in_cells = 1, out_cells = 1;
  for (size_t d = 0; d < out.size(); ++d) in_cells *= c.in[d], out_cells *= out[d];
  auto x = numbers<T>(c.planes * in_cells);
  // NaNs count as values of an average: enough to have a few windows with one.
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != x[i] && i % 5) x[i] = static_cast<T>(1.5f);
  for (bool with_padding : {false, true}) {
    std::vector<T> y(static_cast<size_t>(c.planes * out_cells));
    PoolArgs<T> g;
    g.rank = static_cast<int>(c.in.size()), g.planes = c.planes, g.in = c.in.data(), g.out = out.data();
    g.kernel = c.kernel.data(), g.strides = c.strides.data(), g.dilations = c.dilations.data();
    g.pads_begin = c.pads_begin.data(), g.pads_end = c.pads_end.data(), g.x = x.data(), g.y = y.data();
    g.count_include_pad = with_padding;
    average_pool_impl<Arch>(g);
    int64_t wrong = 0;
    for (int64_t p = 0; p < c.planes; ++p)
      windows(c, out, [&](int64_t o, const std::vector<int64_t>& cells, int64_t in_padding) {
        double sum = 0;
        for (int64_t cell : cells)
          sum += static_cast<double>(static_cast<float>(x[static_cast<size_t>(p * in_cells + cell)]));
        const int64_t count = with_padding ? in_padding : static_cast<int64_t>(cells.size());
        const double mean =
            count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
        const double got = static_cast<double>(static_cast<float>(y[static_cast<size_t>(p * out_cells + o)]));
        const double close = std::is_arithmetic_v<T> ? 1e-5 : 0.08;
        wrong += !(std::isnan(mean) ? std::isnan(got) : std::abs(got - mean) <= close);
      });
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("max_pool: values and places, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const Case& c : cases) {
      CAPTURE(c.name);
      test_max<Arch, float>(c);
      test_max<Arch, double>(c);
      test_max<Arch, int8_t>(c);
      test_max<Arch, uint8_t>(c);
    }
  });
}

TEST_CASE("max_pool: windows of whole planes with few numbers") {
  const float none = std::numeric_limits<float>::quiet_NaN(), least = -std::numeric_limits<float>::infinity();
  const int64_t in[] = {5, 5}, out[] = {1, 1}, ones[] = {1, 1}, zeros[] = {0, 0};
  std::vector<float> x(3 * 25, none), y(3);
  x[25 + 24] = least, x[50 + 7] = -2;
  PoolArgs<float> a;
  a.rank = 2, a.planes = 3, a.in = in, a.out = out, a.kernel = in, a.strides = ones, a.dilations = ones;
  a.pads_begin = zeros, a.pads_end = zeros, a.x = x.data(), a.y = y.data();
  max_pool(a);
  CHECK(same(y[0], none));
  CHECK(y[1] == least);
  CHECK(y[2] == -2);
}

TEST_CASE("average_pool: with and without padding in the count, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const Case& c : cases) {
      CAPTURE(c.name);
      test_average<Arch, float>(c);
      test_average<Arch, double>(c);
    }
  });
}

TEST_CASE("pooling: a huge window costs no more than its input") {
  const int64_t in[] = {3, 3}, out[] = {1, 1}, kernel[] = {1'000'000'000, 1'000'000'000}, ones[] = {1, 1},
                pads[] = {999'999'997, 999'999'997}, none[] = {0, 0};
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9};
  float y = 0;
  simd::dispatch([&]<class Arch>(Arch) {
    PoolArgs<float> g{2, 1, in, out, kernel, ones, ones, pads, none, x.data(), &y};
    max_pool_impl<Arch>(g);
    CHECK(y == 9);
    average_pool_impl<Arch>(g);
    CHECK(y == 5);
  });
}

TEST_CASE("pooling: the same bits for any number of threads") {
  const int64_t in[] = {40, 50}, out[] = {20, 25}, kernel[] = {3, 3}, strides[] = {2, 2}, ones[] = {1, 1};
  const auto x = numbers<float>(64 * 2000);
  simd::dispatch([&]<class Arch>(Arch) {
    std::vector<float> serial(64 * 500), threaded(64 * 500);
    PoolArgs<float> g{2, 64, in, out, kernel, strides, ones, ones, ones, x.data(), serial.data()};
    average_pool_impl<Arch>(g);
    ThreadPool pool(3);
    const ScopedPool scope(pool);
    g.y = threaded.data();
    average_pool_impl<Arch>(g);
    int64_t wrong = 0;
    for (size_t i = 0; i < serial.size(); ++i) wrong += !same(serial[i], threaded[i]);
    CHECK(wrong == 0);
  });
}
