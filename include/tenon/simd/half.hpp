// Half-precision numbers, binary16 and bfloat16 as bits, to binary32 and back.
#pragma once

#include <bit>
#include <cstring>

#include "tenon/simd/batch/registers.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// binary16 to binary32, exact; signalling NaNs become quiet, as F16C does.
template <class Arch>
constexpr float f16_bits_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    const uint32_t payload = (magnitude & 0x3ffu) << 13;
    return std::bit_cast<float>(sign | 0x7f800000u | payload | (payload ? 0x400000u : 0u));
  }
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

/// binary32 to binary16, to nearest even; NaNs stay NaNs with the top of their payload.
template <class Arch>
constexpr uint16_t f32_to_f16_bits(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  // 65520 and more round to infinity.
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= 0x38800000u) {
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
  // Subnormal result: adding 0.5 puts the unit of binary16's subnormals, 2^-24, in the last place.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
}

/// binary32 to bfloat16, to nearest even; NaNs stay NaNs.
template <class Arch>
constexpr uint16_t f32_to_bf16_bits(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Whole blocks of `width` numbers, then the rest through a padded copy.
template <int width, class In, class Out, class Block>
inline void in_blocks(const In* in, Out* out, int64_t n, Block block) {
  int64_t i = 0;
  for (; i + width <= n; i += width) block(in + i, out + i);
  if (i == n) return;
  In last_in[width] = {};
  Out last_out[width];
  std::memcpy(last_in, in + i, static_cast<size_t>(n - i) * sizeof(In));
  block(last_in, last_out);
  std::memcpy(out + i, last_out, static_cast<size_t>(n - i) * sizeof(Out));
}

#if defined(__AVX512F__)
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
#endif

#if defined(__AVX2__)
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
#endif

}  // namespace detail

/// n binary16 numbers (as bits) to binary32.
template <class Arch>
inline void f16_to_f32(const uint16_t* in, float* out, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    detail::in_blocks<16>(in, out, n, [](const uint16_t* h, float* x) {
      _mm512_storeu_ps(x, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(h))));
    });
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    detail::in_blocks<8>(in, out, n, [](const uint16_t* h, float* x) {
      _mm256_storeu_ps(x, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(h))));
    });
  else
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = detail::f16_bits_to_f32<Arch>(in[i]);
}

/// n binary32 numbers to binary16 (as bits), to nearest even.
template <class Arch>
inline void f32_to_f16(const float* in, uint16_t* out, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    detail::in_blocks<16>(in, out, n, [](const float* x, uint16_t* h) {
      const __m256i halves = _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(h), halves);
    });
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    detail::in_blocks<8>(in, out, n, [](const float* x, uint16_t* h) {
      const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(h), halves);
    });
  else
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = detail::f32_to_f16_bits<Arch>(in[i]);
}

/// n bfloat16 numbers (as bits) to binary32.
template <class Arch>
inline void bf16_to_f32(const uint16_t* in, float* out, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    detail::in_blocks<16>(in, out, n, [](const uint16_t* h, float* x) {
      const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(h)));
      _mm512_storeu_si512(x, _mm512_slli_epi32(wide, 16));
    });
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    detail::in_blocks<8>(in, out, n, [](const uint16_t* h, float* x) {
      const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(h)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), _mm256_slli_epi32(wide, 16));
    });
  else
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i]) << 16);
}

/// n binary32 numbers to bfloat16 (as bits), to nearest even. Not vcvtneps2bf16, which flushes subnormals.
template <class Arch>
inline void f32_to_bf16(const float* in, uint16_t* out, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    detail::in_blocks<16>(in, out, n, [](const float* x, uint16_t* h) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(h), detail::bf16_from_f32<Arch>(_mm512_loadu_ps(x)));
    });
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    detail::in_blocks<8>(in, out, n, [](const float* x, uint16_t* h) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(h), detail::bf16_from_f32<Arch>(_mm256_loadu_ps(x)));
    });
  else
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = detail::f32_to_bf16_bits<Arch>(in[i]);
}

}  // namespace tenon::TENON_ABI::simd
