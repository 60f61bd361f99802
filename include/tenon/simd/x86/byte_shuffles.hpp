// Shuffles of bytes of x86.
#pragma once

#include <cstring>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_conversions.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- SSE2 ------------------------------------------------------------------------------------------------

template <detail::HasSse2 Arch>
inline void transpose_words(const uint8_t* from, int64_t from_row, uint32_t* to, int64_t to_row) {
  const auto row = [&](int i) { return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * from_row)); };
  __m128 r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  _mm_storeu_ps(reinterpret_cast<float*>(to), r0);
  _mm_storeu_ps(reinterpret_cast<float*>(to + to_row), r1);
  _mm_storeu_ps(reinterpret_cast<float*>(to + 2 * to_row), r2);
  _mm_storeu_ps(reinterpret_cast<float*>(to + 3 * to_row), r3);
}

#if defined(__SSSE3__)
template <detail::HasSse2 Arch>
inline void transpose_bytes(int32_t a, int32_t b, int32_t c, int32_t d, int32_t* to) {
  const __m128i turned = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(_mm_setr_epi32(a, b, c, d), turned));
}
#endif

template <detail::HasSse2 Arch>
inline void interleave_bytes(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                             uint32_t* to) {
  const auto load = [](const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  const __m128i a = load(r0), b = load(r1), c = load(r2), d = load(r3);
  const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
  const __m128i ab_high = _mm_unpackhi_epi8(a, b), cd_high = _mm_unpackhi_epi8(c, d);
  auto* out = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(out, _mm_unpacklo_epi16(ab, cd));
  _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(ab, cd));
  _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(ab_high, cd_high));
  _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(ab_high, cd_high));
}

template <detail::HasSse2 Arch>
inline void interleave_pairs(const uint8_t* r0, const uint8_t* r1, uint8_t flip, int32_t zero, int32_t* to) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const auto load = [&](const uint8_t* p) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), flips);
  };
  const __m128i a = load(r0), b = load(r1);
  const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
  const __m128i none = _mm_setzero_si128(), zeros = _mm_set1_epi16(static_cast<int16_t>(zero));
  auto* out = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(out, _mm_sub_epi16(_mm_unpacklo_epi8(low, none), zeros));
  _mm_storeu_si128(out + 1, _mm_sub_epi16(_mm_unpackhi_epi8(low, none), zeros));
  _mm_storeu_si128(out + 2, _mm_sub_epi16(_mm_unpacklo_epi8(high, none), zeros));
  _mm_storeu_si128(out + 3, _mm_sub_epi16(_mm_unpackhi_epi8(high, none), zeros));
}

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

template <detail::HasAvx2 Arch>
inline void interleave_rows(const uint8_t* const* row, int rows, uint8_t flip, uint8_t* to) {
  uint32_t words[16];
  const auto at = [&](int r) { return row[r < rows ? r : 0]; };
  interleave_bytes<Arch>(at(0), at(1), at(2), at(3), words);
  alignas(16) static constexpr int8_t kept[4][16] = {
      {0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
      {0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1},
      {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1},
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  const __m128i keep = _mm_load_si128(reinterpret_cast<const __m128i*>(kept[rows - 1]));
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  for (int k = 0; k < 4; ++k) {
    const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 4 * k));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 4 * rows * k),
                     _mm_xor_si128(_mm_shuffle_epi8(four, keep), flips));
  }
}

template <detail::HasAvx2 Arch>
inline void interleave_pairs(const uint8_t* r0, const uint8_t* r1, uint8_t flip, int32_t zero, int32_t* to) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const auto load = [&](const uint8_t* p) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), flips);
  };
  const __m128i a = load(r0), b = load(r1);
  const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
  const __m256i zeros = _mm256_set1_epi16(static_cast<int16_t>(zero));
  auto* out = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(out, _mm256_sub_epi16(_mm256_cvtepu8_epi16(low), zeros));
  _mm256_storeu_si256(out + 1, _mm256_sub_epi16(_mm256_cvtepu8_epi16(high), zeros));
}

template <detail::AtAvx2 Arch, class A>
inline void interleave_vectors(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                               xsimd::batch<int32_t, A>* to) {
  const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  const auto load = [&](const uint8_t* p) {
    return _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), order);
  };
  const __m256i a = load(r0), b = load(r1), c = load(r2), d = load(r3);
  const __m256i ab = _mm256_unpacklo_epi8(a, b), cd = _mm256_unpacklo_epi8(c, d);
  const __m256i ab_high = _mm256_unpackhi_epi8(a, b), cd_high = _mm256_unpackhi_epi8(c, d);
  to[0] = _mm256_unpacklo_epi16(ab, cd);
  to[1] = _mm256_unpackhi_epi16(ab, cd);
  to[2] = _mm256_unpacklo_epi16(ab_high, cd_high);
  to[3] = _mm256_unpackhi_epi16(ab_high, cd_high);
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

template <detail::AtAvx512 Arch, class A>
inline void interleave_vectors(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                               xsimd::batch<int32_t, A>* to) {
  // Each quarter of a vector gets a word of each result vector, so that unpacking yields them in order.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const auto load = [&](const uint8_t* p) { return _mm512_permutexvar_epi32(order, _mm512_loadu_si512(p)); };
  const __m512i a = load(r0), b = load(r1), c = load(r2), d = load(r3);
  const __m512i ab = _mm512_unpacklo_epi8(a, b), cd = _mm512_unpacklo_epi8(c, d);
  const __m512i ab_high = _mm512_unpackhi_epi8(a, b), cd_high = _mm512_unpackhi_epi8(c, d);
  to[0] = _mm512_unpacklo_epi16(ab, cd);
  to[1] = _mm512_unpackhi_epi16(ab, cd);
  to[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
  to[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
