// Products with one lane of a vector. Kernels use them where has_lane_products, to broadcast no numbers.
#pragma once

#include "tenon/simd/batch/arithmetic.hpp"
#include "tenon/simd/batch/byte_products.hpp"
#include "tenon/simd/properties.hpp"

namespace tenon::TENON_ABI::simd {

/// Lane 0 from memory of any alignment, the others unspecified. T of 4 or 8 bytes.
template <class Arch, class T>
inline batch<T, Arch> load_lane(const T* p);

/// mul_add, mul_add_pairs and dot_bytes with lane `lane` of x in place of each lane of x.
template <int lane, class T, class A>
inline xsimd::batch<T, A> mul_add_lane(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                       const xsimd::batch<T, A>& z);
template <int lane, class A>
inline xsimd::batch<int32_t, A> mul_add_pairs_lane(const xsimd::batch<int32_t, A>& x,
                                                   const xsimd::batch<int32_t, A>& y,
                                                   const xsimd::batch<int32_t, A>& z);
template <int lane, class A>
inline xsimd::batch<int32_t, A> dot_bytes_lane(const xsimd::batch<int32_t, A>& x,
                                               const xsimd::batch<int32_t, A>& y,
                                               const xsimd::batch<int32_t, A>& z);

/// dot_bytes with lane `lane` of y in place of each lane of y.
template <int lane, class A>
inline xsimd::batch<int32_t, A> dot_bytes_by_lane(const xsimd::batch<int32_t, A>& x,
                                                  const xsimd::batch<int32_t, A>& y,
                                                  const xsimd::batch<int32_t, A>& z);

/// Lanes 2 i + j as z + the sum of the products of the eight unsigned bytes in lanes 2 i and 2 i + 1 of x,
/// and the eight signed bytes in lanes 2 j and 2 j + 1 of y, for each four lanes.
template <class A>
inline xsimd::batch<int32_t, A> dot_blocks(const xsimd::batch<int32_t, A>& x,
                                           const xsimd::batch<int32_t, A>& y,
                                           const xsimd::batch<int32_t, A>& z);

/// Keeps GCC from loading later operands before earlier products, for which registers would not suffice.
template <class = void>
inline void finish_products() {
#if defined(__GNUC__) && !defined(__clang__)
  asm volatile("");
#endif
}

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/lane_products.hpp"

#include "tenon/simd/generic/lane_products.hpp"
