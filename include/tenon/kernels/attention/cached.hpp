// Steps of attention for few queries: products with keys and sums of values that are read once, in the type
// that a cache holds them in, and softmax by blocks.
#pragma once

#include <cstdint>
#include <limits>

#include "tenon/base/types.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// Vectors of a cache: T is float, float16, bfloat16 or int8_t.
template <class T>
struct CachedRows {
  const T* data = nullptr;
  int64_t row = 0;    ///< the distance between vectors
  int64_t count = 0;  ///< of vectors
  int64_t size = 0;   ///< of a vector
};

/// Rows of floats, `row` apart.
template <class Void>
struct FloatRows {
  Void* data = nullptr;
  int64_t row = 0, count = 0;
};

/// A softmax of scores that come in blocks. W: float or double.
template <class W>
struct SoftmaxState {
  W most = -std::numeric_limits<W>::infinity();  ///< the greatest score
  double total = 0;                              ///< of exp(score - most)
};

/// Scores of n keys that follow the keys of earlier blocks.
template <class W>
struct SoftmaxBlock {
  int64_t rows = 0, n = 0;
  W* scores = nullptr;                ///< (rows, n)
  SoftmaxState<W>* states = nullptr;  ///< of the rows
  W* sums = nullptr;                  ///< of earlier values by their weights, for each row; nullptr: none
  int64_t sum_row = 0, size = 0;      ///< their distance, and the numbers of each
};

// The bodies, in cached_impl.hpp.
template <class Arch, class T>
void cached_products_impl(const CachedRows<T>& k, const FloatRows<const float>& q,
                          const FloatRows<float>& scores);
template <class Arch, class T>
void cached_sums_impl(const CachedRows<T>& v, const FloatRows<const float>& weights,
                      const FloatRows<float>& sums);
template <class Arch, class W>
void extend_softmax_impl(const SoftmaxBlock<W>& block);

/// The size of a row of queries for cached_products, whose numbers past the vectors' size are 0.
constexpr int64_t padded_query(int64_t size) { return (size + 15) / 16 * 16; }

/// scores(r, j) = q(r) k(j) for every row r of q. The sum for one key does not depend on the other keys.
template <class T>
inline void cached_products(const CachedRows<T>& k, const FloatRows<const float>& q,
                            const FloatRows<float>& scores) {
  simd::dispatch([&]<class Arch>(Arch) { cached_products_impl<Arch>(k, q, scores); });
}

/// sums(r) += weights(r, j) v(j) for every row r of the weights, one j after another: the result is the same
/// if the vectors are divided among several calls.
template <class T>
inline void cached_sums(const CachedRows<T>& v, const FloatRows<const float>& weights,
                        const FloatRows<float>& sums) {
  simd::dispatch([&]<class Arch>(Arch) { cached_sums_impl<Arch>(v, weights, sums); });
}

/// Replaces scores by their weights among all scores so far, and multiplies earlier sums by the share that is
/// left to them. Weights of scores that are all -infinity are 0. If a score is NaN or +infinity, the row's
/// weights become NaN.
template <class W>
inline void extend_softmax(const SoftmaxBlock<W>& block) {
  simd::dispatch([&]<class Arch>(Arch) { extend_softmax_impl<Arch>(block); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/attention/cached_impl.hpp"
#endif
