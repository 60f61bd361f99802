// Bytes to words and back, with rounding and bounds, and tables of bytes.
#pragma once

#include <cstring>

#include "tenon/simd/batch/memory.hpp"

namespace tenon::TENON_ABI::simd {

/// As many bytes as there are lanes, zero-extended.
template <class Arch>
inline batch<int32_t, Arch> load_bytes(const uint8_t* p);

/// The same, sign-extended.
template <class Arch>
inline batch<int32_t, Arch> load_signed_bytes(const int8_t* p);

/// The first n bytes, n <= lanes, zero-extended, the other lanes zero. Reads nothing past p + n.
template <class Arch>
inline batch<int32_t, Arch> load_bytes_n(const uint8_t* p, int64_t n);

/// The low byte of each lane.
template <class A>
inline void store_bytes(uint8_t* p, const xsimd::batch<int32_t, A>& v);

/// round(x) + zero for numbers within 2^22, to nearest, ties to even; only the low byte of each lane is
/// valid.
template <class A>
inline xsimd::batch<int32_t, A> round_bytes(const xsimd::batch<float, A>& x,
                                            const xsimd::batch<int32_t, A>& zero) {
  // A float of this size has its whole part in its low bits.
  return bits_as<int32_t>(x + xsimd::batch<float, A>(0x1.8p23f)) + zero;
}

/// Bytes of the numbers of `count` contiguous vectors: round(x) + zero, to nearest, ties to even, within lo
/// and hi, which are in the unsigned range, with the bits `flip` changed. The numbers lie within 2^31.
template <int count, class A>
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                          uint8_t flip = 0);

/// The first n bytes of store_rounded.
template <int count, class A>
inline void store_rounded_n(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                            int64_t n);

/// table[x] of each byte, for a table of 256 bytes in vectors. On x86 only where has_byte_tables.
template <class A>
inline xsimd::batch<uint8_t, A> look_up_bytes(const xsimd::batch<uint8_t, A>* table,
                                              const xsimd::batch<uint8_t, A>& x);

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/byte_conversions.hpp"
#include "tenon/simd/wasm/byte_conversions.hpp"
#include "tenon/simd/x86/byte_conversions.hpp"

#include "tenon/simd/generic/byte_conversions.hpp"
