// Transposed and interleaved bytes and words.
#pragma once

#include <cstring>

#include "tenon/simd/batch/byte_conversions.hpp"

namespace tenon::TENON_ABI::simd {

/// to[p * to_row + i] = the word of four bytes at from + i * from_row + 4 * p, for i, p < 4.
template <class Arch>
inline void transpose_words(const uint8_t* from, int64_t from_row, uint32_t* to, int64_t to_row);

/// to[i] = the word of byte i of a, b, c and d, a's lowest, for i < 4.
template <class Arch>
inline void transpose_bytes(int32_t a, int32_t b, int32_t c, int32_t d, int32_t* to);

/// to[j] = the word of the bytes r0[j], r1[j], r2[j], r3[j], the first lowest, for j < 16.
template <class Arch>
inline void interleave_bytes(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                             uint32_t* to);

/// to[j * rows + r] = row[r][j] ^ flip for j < 16 and r < rows, rows <= 4. Writes 16 - 4 * rows bytes more.
template <class Arch>
inline void interleave_rows(const uint8_t* const* row, int rows, uint8_t flip, uint8_t* to);

/// to[j] = two int16: r0[j] ^ flip minus zero in the low half, the same for r1[j] in the high one, for j <
/// 16.
template <class Arch>
inline void interleave_pairs(const uint8_t* r0, const uint8_t* r1, uint8_t flip, int32_t zero, int32_t* to);

/// The words of interleave_bytes for as many columns as a vector has bytes: four vectors of words.
template <class Arch, class A>
inline void interleave_vectors(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                               xsimd::batch<int32_t, A>* to);

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/byte_shuffles.hpp"
#include "tenon/simd/wasm/byte_shuffles.hpp"
#include "tenon/simd/x86/byte_shuffles.hpp"

#include "tenon/simd/generic/byte_shuffles.hpp"
