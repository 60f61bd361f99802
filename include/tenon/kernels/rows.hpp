// Loops over contiguous rows, and over rows of a tile of columns, that the bodies of several kernels share.
// Floats are summed in blocks of at most 16 additions per lane, and the blocks in double: the rounding stays near that
// of one addition, whatever the length.
#pragma once

#include <limits>

#include "tenon/simd/wide.hpp"

namespace tenon::kernels {

namespace detail {

/// Columns that are reduced at a time where rows are reduced to one row.
inline constexpr int reduce_tile = 128;

/// How elements are joined, of numbers and of batches; and what joins without effect.
struct Add {
  template <class V>
  static V join(const V& x, const V& y) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
    else return x + y;
  }
  template <class V>
  static constexpr V identity() {
    return V(0);
  }
};
struct Multiply {
  template <class V>
  static V join(const V& x, const V& y) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    else return x * y;
  }
  template <class V>
  static constexpr V identity() {
    return V(1);
  }
};
struct Greatest {
  template <class V>
  static V join(const V& x, const V& y) {
    if constexpr (std::is_arithmetic_v<V>) return x > y || x != x ? x : y;
    else return simd::max_nan(x, y);
  }
  template <class V>
  static constexpr V identity() {
    using L = std::numeric_limits<V>;
    return L::has_infinity ? -L::infinity() : L::lowest();
  }
};
struct Least {
  template <class V>
  static V join(const V& x, const V& y) {
    if constexpr (std::is_arithmetic_v<V>) return x < y || x != x ? x : y;
    else return simd::min_nan(x, y);
  }
  template <class V>
  static constexpr V identity() {
    using L = std::numeric_limits<V>;
    return L::has_infinity ? L::infinity() : L::max();
  }
};

/// `lanes<C, Arch>` elements, or the first `count`, as a batch of C.
template <class Arch, class C, class T, class... Count>
simd::batch<C, Arch> load_as(const T* p, Count... count) {
  if constexpr (std::is_same_v<C, simd::wide<T>>) {
    return simd::load_wide<Arch>(p, count...);
  } else {
    constexpr int width = simd::lanes<C, Arch>;
    alignas(64) C lane[width] = {};
    int64_t n = width;
    ((n = count), ...);
    for (int64_t i = 0; i < n; ++i) lane[i] = static_cast<C>(p[i]);
    return simd::loadu<Arch>(lane);
  }
}

/// Reduces n contiguous elements; f maps a batch.
template <class Arch, class Join, class C, class T, class F>
double reduce_run(const T* x, int64_t n, const F& f) {
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>, ways = 4, block = 16 * ways * width;
  double total = Join::template identity<double>();
  for (int64_t at = 0; at < n; at += block) {
    const int64_t count = n - at < block ? n - at : block;
    const T* p = x + at;
    B acc[ways];
    for (B& a : acc) a = B(Join::template identity<C>());
    int64_t i = 0;
    for (; i + ways * width <= count; i += ways * width)
      for (int w = 0; w < ways; ++w) acc[w] = Join::join(f(load_as<Arch, C>(p + i + w * width)), acc[w]);
    for (; i + width <= count; i += width) acc[0] = Join::join(f(load_as<Arch, C>(p + i)), acc[0]);
    if (i < count) {
      alignas(64) C lane[width];
      simd::storeu(lane, f(load_as<Arch, C>(p + i, count - i)));
      for (int64_t j = count - i; j < width; ++j) lane[j] = Join::template identity<C>();
      acc[1] = Join::join(simd::loadu<Arch>(lane), acc[1]);
    }
    const B joined = Join::join(Join::join(acc[0], acc[1]), Join::join(acc[2], acc[3]));
    alignas(64) C lane[width];
    simd::storeu(lane, joined);
    for (int64_t half = width / 2; half > 0; half /= 2)
      for (int64_t j = 0; j < half; ++j) lane[j] = Join::join(lane[j], lane[j + half]);
    total = Join::join(total, static_cast<double>(lane[0]));
  }
  return total;
}

/// Reduces `rows` rows of n <= reduce_tile elements into n totals; f maps the batch of columns j ...
template <class Arch, class Join, class C, class T, class F>
void reduce_rows(const T* x, int64_t stride, int64_t rows, int64_t n, double* total, const F& f) {
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>;
  alignas(64) C sums[reduce_tile];
  for (int64_t row = 0; row < rows; row += 16) {
    const int64_t count = rows - row < 16 ? rows - row : 16;
    const T* p = x + row * stride;
    for (int64_t j = 0; j < n; j += width) {
      B acc;
      if (j + width <= n) {
        acc = f(load_as<Arch, C>(p + j), j);
        for (int64_t r = 1; r < count; ++r) acc = Join::join(f(load_as<Arch, C>(p + r * stride + j), j), acc);
      } else {
        acc = f(load_as<Arch, C>(p + j, n - j), j);
        for (int64_t r = 1; r < count; ++r)
          acc = Join::join(f(load_as<Arch, C>(p + r * stride + j, n - j), j), acc);
      }
      simd::storeu(sums + j, acc);
    }
    for (int64_t j = 0; j < n; ++j) total[j] = Join::join(static_cast<double>(sums[j]), total[j]);
  }
}

/// y = f(x, i) over n contiguous elements, a batch at a time.
template <class Arch, class T, class F>
void map_row(const T* x, T* y, int64_t n, const F& f) {
  constexpr int64_t width = simd::lanes<simd::wide<T>, Arch>;
  int64_t i = 0;
  for (; i + width <= n; i += width) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i), i));
  if (i < n) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i, n - i), i, n - i), n - i);
}

}  // namespace detail

}  // namespace tenon::kernels
