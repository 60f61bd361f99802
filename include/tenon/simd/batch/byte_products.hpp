// Products of bytes and of 16-bit integers, added up in words.
#pragma once

#include <algorithm>
#include <cstring>

#include "tenon/simd/batch/memory.hpp"
#include "tenon/simd/features.hpp"
#include "tenon/simd/properties.hpp"

namespace tenon::TENON_ABI::simd {

/// Each lane as two int16 (x = x0 + 65536 x1): z + x0 y0 + x1 y1, wrapping.
template <class A>
inline xsimd::batch<int32_t, A> mul_add_pairs(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z);

/// Each lane as four bytes, unsigned in x and signed in y: z + x0 y0 + x1 y1 + x2 y2 + x3 y3, wrapping, where
/// the level subtracts dot_bytes_lowers from the bytes of x. At levels with has_dot_bytes_16, the processor
/// must support it (has_dot_bytes).
template <class A>
inline xsimd::batch<int32_t, A> dot_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& y,
                                          const xsimd::batch<int32_t, A>& z);

/// dot_bytes for bytes of x below 128, from which nothing is subtracted.
template <class A>
inline xsimd::batch<int32_t, A> dot_low_bytes(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z);

/// z + the four unsigned bytes of each lane of x.
template <class A>
inline xsimd::batch<int32_t, A> sum_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& z);

/// Each lane as four bytes, unsigned in x and signed in y, and as two int16 in z and the result: z0 + x0 y0 +
/// x1 y1 and z1 + x2 y2 + x3 y3. Products of two bytes saturate, sums wrap.
template <class A>
inline xsimd::batch<int32_t, A> mul_add_bytes(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z);

/// dot_bytes for bytes whose sums x0 y0 + x1 y1 and x2 y2 + x3 y3 fit into 16 bits. Fast where
/// has_dot_bytes_16.
template <class A>
inline xsimd::batch<int32_t, A> dot_bytes_16(const xsimd::batch<int32_t, A>& x,
                                             const xsimd::batch<int32_t, A>& y,
                                             const xsimd::batch<int32_t, A>& z);

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/byte_products.hpp"
#include "tenon/simd/wasm/byte_products.hpp"
#include "tenon/simd/x86/byte_products.hpp"

#include "tenon/simd/generic/byte_products.hpp"
