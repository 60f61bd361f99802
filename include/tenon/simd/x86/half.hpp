// Conversions of halves by F16C, AVX2 and AVX-512.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

namespace detail {
template <class Arch>
inline __m128i bf16_from_f32(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i near = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i words = _mm256_blendv_epi8(near, quiet, nan);
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08));
}
}  // namespace detail

template <detail::AtAvx2 Arch>
inline void f16_to_f32(const uint16_t* in, float* out, int64_t n) {
  detail::in_blocks<8>(in, out, n, [](const uint16_t* h, float* x) {
    _mm256_storeu_ps(x, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(h))));
  });
}

template <detail::AtAvx2 Arch>
inline void f32_to_f16(const float* in, uint16_t* out, int64_t n) {
  detail::in_blocks<8>(in, out, n, [](const float* x, uint16_t* h) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(h), halves);
  });
}

template <detail::AtAvx2 Arch>
inline void bf16_to_f32(const uint16_t* in, float* out, int64_t n) {
  detail::in_blocks<8>(in, out, n, [](const uint16_t* h, float* x) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(h)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), _mm256_slli_epi32(wide, 16));
  });
}

template <detail::AtAvx2 Arch>
inline void f32_to_bf16(const float* in, uint16_t* out, int64_t n) {
  detail::in_blocks<8>(in, out, n, [](const float* x, uint16_t* h) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(h), detail::bf16_from_f32<Arch>(_mm256_loadu_ps(x)));
  });
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

namespace detail {
template <class Arch>
inline __m256i bf16_from_f32(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  const __m512i near = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
  const __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(near, nan, quiet));
}
}  // namespace detail

template <detail::AtAvx512 Arch>
inline void f16_to_f32(const uint16_t* in, float* out, int64_t n) {
  detail::in_blocks<16>(in, out, n, [](const uint16_t* h, float* x) {
    _mm512_storeu_ps(x, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(h))));
  });
}

template <detail::AtAvx512 Arch>
inline void f32_to_f16(const float* in, uint16_t* out, int64_t n) {
  detail::in_blocks<16>(in, out, n, [](const float* x, uint16_t* h) {
    const __m256i halves = _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(h), halves);
  });
}

template <detail::AtAvx512 Arch>
inline void bf16_to_f32(const uint16_t* in, float* out, int64_t n) {
  detail::in_blocks<16>(in, out, n, [](const uint16_t* h, float* x) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(h)));
    _mm512_storeu_si512(x, _mm512_slli_epi32(wide, 16));
  });
}

template <detail::AtAvx512 Arch>
inline void f32_to_bf16(const float* in, uint16_t* out, int64_t n) {
  detail::in_blocks<16>(in, out, n, [](const float* x, uint16_t* h) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(h), detail::bf16_from_f32<Arch>(_mm512_loadu_ps(x)));
  });
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
