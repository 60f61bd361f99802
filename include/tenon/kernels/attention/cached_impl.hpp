// Bodies of cached.hpp. Numbers are widened in registers, once for several queries.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/kernels/attention/cached.hpp"
#include "tenon/kernels/reduce/exponentials.hpp"
#include "tenon/kernels/reduce/rows.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace cached_detail {

/// A register of numbers of a cache, or the first n of them and zeros.
template <class Arch, class T>
inline simd::batch<float, Arch> load(const T* p) {
  if constexpr (std::is_same_v<T, int8_t>) return simd::to_float(simd::load_signed_bytes<Arch>(p));
  else return simd::load_wide<Arch>(p);
}
template <class Arch, class T>
inline simd::batch<float, Arch> load(const T* p, int64_t n) {
  T part[simd::lanes<float, Arch>] = {};
  std::copy_n(p, n, part);
  return load<Arch>(static_cast<const T*>(part));
}

/// Queries that are multiplied together.
template <class Arch>
inline constexpr int together = Arch::registers == 32 ? 4 : 2;

/// Bytes between the vector that is read and the one that is fetched into the second-level cache.
inline constexpr int64_t ahead = 8192;

template <class Arch, class T>
inline void fetch(const T* vector, int64_t size) {
  const auto* const p = reinterpret_cast<const char*>(vector);
  for (int64_t i = 0; i < size * static_cast<int64_t>(sizeof(T)); i += 64) TENON_PREFETCH(p + i, 0, 2);
}
/// The number of vectors that have `ahead` bytes.
template <class Arch, class T>
int64_t vectors_ahead(const CachedRows<T>& x) {
  return ahead / std::max<int64_t>(x.size * static_cast<int64_t>(sizeof(T)), 64) + 1;
}

/// The sums of neighbouring lanes of x, and then of y.
template <class V>
TENON_ALWAYS_INLINE inline V add_neighbours(const V& x, const V& y) {
  V even, odd;
  simd::split_pairs(x, y, even, odd);
  return even + odd;
}
/// The lanes of `count` vectors, a power of two, added up until they fit into one vector.
template <int count, class V>
TENON_ALWAYS_INLINE inline V fit_lanes(const V* v) {
  if constexpr (count == 1) return v[0];
  else return add_neighbours(fit_lanes<count / 2>(v), fit_lanes<count / 2>(v + count / 2));
}
/// The sums of `count` groups of lanes of a vector, in its first `count` lanes.
template <int count, class V>
TENON_ALWAYS_INLINE inline V add_groups(const V& v) {
  if constexpr (count == static_cast<int>(V::size)) return v;
  else return add_groups<2 * count>(add_neighbours(v, v));
}

/// Products of R queries and K neighbouring keys.
template <class Arch, int R, int K, class T>
inline void multiply(const CachedRows<T>& k, int64_t j, const float* q, int64_t q_row, float* scores,
                     int64_t score_row) {
  using V = simd::batch<float, Arch>;
  constexpr int L = simd::lanes<float, Arch>;
  const T* const at = k.data + j * k.row;
  V sum[R * K];
#pragma GCC unroll 16
  for (int i = 0; i < R * K; ++i) sum[i] = V(0.0f);
  const auto step = [&](int64_t p, const auto& load) {
    V x[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) x[r] = simd::loadu<Arch>(q + r * q_row + p);
#pragma GCC unroll 4
    for (int e = 0; e < K; ++e) {
      const V y = load(at + e * k.row + p);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r * K + e] = simd::mul_add(x[r], y, sum[r * K + e]);
    }
  };
  int64_t p = 0;
  for (; p + L <= k.size; p += L) step(p, [](const T* from) { return load<Arch>(from); });
  if (const int64_t rest = k.size - p; rest > 0)
    step(p, [rest](const T* from) { return load<Arch>(from, rest); });
  // The sums of the lanes, as many at once as there are lanes. Neighbours are added first, whatever their
  // number, so that a sum does not depend on it.
  constexpr int group = std::min(R * K, L);
  alignas(64) float sums[R * K / group * group + L];
#pragma GCC unroll 4
  for (int i = 0; i < R * K; i += group) simd::storeu(sums + i, add_groups<group>(fit_lanes<group>(sum + i)));
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) std::copy_n(sums + r * K, K, scores + r * score_row + j);
}

/// The same for all queries.
template <class Arch, int K, class T>
inline void multiply_all(const CachedRows<T>& k, int64_t j, const FloatRows<const float>& q,
                         const FloatRows<float>& scores) {
  const auto rows = [&]<int R>(std::integral_constant<int, R>, int64_t r) {
    multiply<Arch, R, K>(k, j, q.data + r * q.row, q.row, scores.data + r * scores.row, scores.row);
    return r + R;
  };
  int64_t r = 0;
  if constexpr (together<Arch> == 4)
    while (q.count - r >= 4) r = rows(std::integral_constant<int, 4>{}, r);
  while (q.count - r >= 2) r = rows(std::integral_constant<int, 2>{}, r);
  if (r < q.count) rows(std::integral_constant<int, 1>{}, r);
}

/// sums(r, c) += weights(r, j) v(j, c) for R rows, and for C registers of columns or the first n numbers of
/// one.
template <class Arch, int R, int C, class T, class... N>
inline void add_columns(const CachedRows<T>& v, const float* weights, int64_t weight_row, float* sums,
                        int64_t sum_row, N... n) {
  using V = simd::batch<float, Arch>;
  constexpr int L = simd::lanes<float, Arch>;
  V sum[R * C];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c)
      sum[r * C + c] = load<Arch>(static_cast<const float*>(sums) + r * sum_row + c * L, n...);
  const T* at = v.data;
  for (int64_t j = 0; j < v.count; ++j, at += v.row) {
    V weight[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) weight[r] = V(weights[r * weight_row + j]);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      const V x = load<Arch>(at + c * L, n...);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r * C + c] = simd::mul_add(weight[r], x, sum[r * C + c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      if constexpr (sizeof...(n) > 0) simd::store_n(sums + r * sum_row + c * L, sum[r * C + c], n...);
      else simd::storeu(sums + r * sum_row + c * L, sum[r * C + c]);
    }
}

/// The same for all columns.
template <class Arch, int R, class T>
inline void add_rows(const CachedRows<T>& v, const float* weights, int64_t weight_row, float* sums,
                     int64_t sum_row) {
  constexpr int64_t L = simd::lanes<float, Arch>;
  CachedRows<T> at = v;
  int64_t c = 0;
  const auto columns = [&]<int C>(std::integral_constant<int, C>, auto... n) {
    add_columns<Arch, R, C>(at, weights, weight_row, sums + c, sum_row, n...);
    at.data += C * L, c += C * L;
  };
  while (v.size - c >= 4 * L) columns(std::integral_constant<int, 4>{});
  while (v.size - c >= L) columns(std::integral_constant<int, 1>{});
  if (c < v.size) columns(std::integral_constant<int, 1>{}, v.size - c);
}

}  // namespace cached_detail

template <class Arch, class T>
void cached_products_impl(const CachedRows<T>& k, const FloatRows<const float>& q,
                          const FloatRows<float>& scores) {
  using namespace cached_detail;
  const int64_t later = vectors_ahead<Arch>(k);
  int64_t j = 0;
  for (; j + 4 <= k.count; j += 4) {
#pragma GCC unroll 4
    for (int e = 0; e < 4; ++e) fetch<Arch>(k.data + (j + e + later) * k.row, k.size);
    multiply_all<Arch, 4>(k, j, q, scores);
  }
  for (; j < k.count; ++j) multiply_all<Arch, 1>(k, j, q, scores);
}

template <class Arch, class T>
void cached_sums_impl(const CachedRows<T>& v, const FloatRows<const float>& weights,
                      const FloatRows<float>& sums) {
  using namespace cached_detail;
  const int64_t later = vectors_ahead<Arch>(v);
  // As many vectors at a time as stay in the first-level cache while rows and columns are visited.
  constexpr int64_t some = 16;
  for (int64_t j = 0; j < v.count; j += some) {
    CachedRows<T> at = v;
    at.data += j * v.row, at.count = std::min(some, v.count - j);
    for (int64_t e = 0; e < at.count; ++e) fetch<Arch>(at.data + (e + later) * v.row, v.size);
    const auto rows = [&]<int R>(std::integral_constant<int, R>, int64_t r) {
      add_rows<Arch, R>(at, weights.data + r * weights.row + j, weights.row, sums.data + r * sums.row,
                        sums.row);
      return r + R;
    };
    int64_t r = 0;
    if constexpr (together<Arch> == 4)
      while (weights.count - r >= 4) r = rows(std::integral_constant<int, 4>{}, r);
    while (weights.count - r >= 2) r = rows(std::integral_constant<int, 2>{}, r);
    if (r < weights.count) rows(std::integral_constant<int, 1>{}, r);
  }
}

template <class Arch, class W>
void extend_softmax_impl(const SoftmaxBlock<W>& block) {
  using B = simd::batch<W, Arch>;
  const auto multiply = [](W* x, int64_t n, double by) {
    const B factor(static_cast<W>(by));
    detail::map_row<Arch>(static_cast<const W*>(x), x, n, [&](const B& v, auto...) { return v * factor; });
  };
  for (int64_t r = 0; r < block.rows; ++r) {
    W* const x = block.scores + r * block.n;
    SoftmaxState<W>& state = block.states[r];
    const W before = state.most, of_block = detail::greatest_of_row<Arch>(static_cast<const W*>(x), block.n);
    state.most = before < of_block ? of_block : before;
    const W shift = state.most > -std::numeric_limits<W>::infinity() ? state.most : W{0};
    const double sum = detail::sum_exponentials<Arch>(
        static_cast<const W*>(x), block.n, B(shift),
        [x](const B& e, int64_t i, auto... count) { simd::store_wide<Arch>(x + i, e, count...); });
    const bool extends = state.total != 0;
    double kept = 0;  // of the earlier scores: of low ones, it may be 0
    if (extends)
      kept = uncontracted(std::exp(static_cast<double>(before) - static_cast<double>(shift)) * state.total);
    state.total = kept + sum;
    if (state.total == 0) continue;
    multiply(x, block.n, 1 / state.total);
    if (block.sums != nullptr && extends && kept != state.total)
      multiply(block.sums + r * block.sum_row, block.size, kept / state.total);
  }
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

#define TENON_CACHED(T)                                                                                     \
  template void cached_products_impl<TENON_INSTANTIATE, T>(                                                 \
      const CachedRows<T>&, const FloatRows<const float>&, const FloatRows<float>&);                        \
  template void cached_sums_impl<TENON_INSTANTIATE, T>(const CachedRows<T>&, const FloatRows<const float>&, \
                                                       const FloatRows<float>&);
TENON_CACHED(float)
TENON_CACHED(float16)
TENON_CACHED(bfloat16)
TENON_CACHED(int8_t)
#undef TENON_CACHED
template void extend_softmax_impl<TENON_INSTANTIATE>(const SoftmaxBlock<float>&);
template void extend_softmax_impl<TENON_INSTANTIATE>(const SoftmaxBlock<double>&);

}  // namespace tenon::TENON_ABI::kernels
#endif
