// Columns of bytes as words in the order in which it is cheapest to unpack and pack them, by quarters of
// vectors.
#pragma once

#include "tenon/simd/batch/byte_conversions.hpp"

namespace tenon::TENON_ABI::simd {

/// The first n bytes at p in the lower half, and at q in the upper one; n is up to half of the lanes.
template <class Arch>
inline batch<uint8_t, Arch> load_halves_n(const uint8_t* p, const uint8_t* q, int64_t n);

/// From four vectors of words, vectors 0 and 1, or with `high` 2 and 3: lane i of vector k is the word of the
/// bytes r0[j], r1[j], r2[j], r3[j], j = 16 (i / 4) + 4 k + i % 4.
template <bool high, class A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[4], xsimd::batch<int32_t, A>* to);

/// The same for words of two 16-bit integers r0[j], r1[j].
template <bool high, class A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[2], xsimd::batch<int32_t, A>* to);

/// The first n bytes of store_rounded<4>, where byte j comes from the lane of column j in
/// interleave_quarters; with `two`, for registers of 64 bytes, the first n of each half, with the upper
/// half's written to p2.
template <bool two, class A>
inline void store_rounded_quarters_n(uint8_t* p, [[maybe_unused]] uint8_t* p2,
                                     const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                                     int64_t n);

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/byte_quarters.hpp"
#include "tenon/simd/wasm/byte_quarters.hpp"
#include "tenon/simd/x86/byte_quarters.hpp"

#include "tenon/simd/generic/byte_quarters.hpp"
