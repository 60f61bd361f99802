// Unpacking and packing of bytes by quarters of the vectors of AVX2 and AVX-512.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_conversions.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

template <bool high, detail::Ymm A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[4], xsimd::batch<int32_t, A>* to) {
  const __m256i ab = high ? _mm256_unpackhi_epi8(row[0], row[1]) : _mm256_unpacklo_epi8(row[0], row[1]);
  const __m256i cd = high ? _mm256_unpackhi_epi8(row[2], row[3]) : _mm256_unpacklo_epi8(row[2], row[3]);
  to[0] = _mm256_unpacklo_epi16(ab, cd);
  to[1] = _mm256_unpackhi_epi16(ab, cd);
}

template <bool high, detail::Ymm A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[2], xsimd::batch<int32_t, A>* to) {
  const __m256i ab = high ? _mm256_unpackhi_epi8(row[0], row[1]) : _mm256_unpacklo_epi8(row[0], row[1]);
  to[0] = _mm256_unpacklo_epi8(ab, _mm256_setzero_si256());
  to[1] = _mm256_unpackhi_epi8(ab, _mm256_setzero_si256());
}

template <bool two, detail::Ymm A>
  requires(!two)
inline void store_rounded_quarters_n(uint8_t* p, uint8_t*, const xsimd::batch<float, A>* x, int32_t zero,
                                     int32_t lo, int32_t hi, int64_t n) {
  const xsimd::batch<uint8_t, A> bytes(detail::rounded_halves<4>(x, zero, lo, hi));
  if (n == 32) storeu(p, bytes);
  else store_n(p, bytes, n);
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

template <detail::AtAvx512 Arch>
inline batch<uint8_t, Arch> load_halves_n(const uint8_t* p, const uint8_t* q, int64_t n) {
  const auto ones = static_cast<__mmask32>((uint64_t{1} << n) - 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(ones, p)),
                            _mm256_maskz_loadu_epi8(ones, q), 1);
}

template <bool high, detail::Zmm A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[4], xsimd::batch<int32_t, A>* to) {
  const __m512i ab = high ? _mm512_unpackhi_epi8(row[0], row[1]) : _mm512_unpacklo_epi8(row[0], row[1]);
  const __m512i cd = high ? _mm512_unpackhi_epi8(row[2], row[3]) : _mm512_unpacklo_epi8(row[2], row[3]);
  to[0] = _mm512_unpacklo_epi16(ab, cd);
  to[1] = _mm512_unpackhi_epi16(ab, cd);
}

template <bool high, detail::Zmm A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[2], xsimd::batch<int32_t, A>* to) {
  const __m512i ab = high ? _mm512_unpackhi_epi8(row[0], row[1]) : _mm512_unpacklo_epi8(row[0], row[1]);
  to[0] = _mm512_unpacklo_epi8(ab, _mm512_setzero_si512());
  to[1] = _mm512_unpackhi_epi8(ab, _mm512_setzero_si512());
}

template <bool two, detail::Zmm A>
inline void store_rounded_quarters_n(uint8_t* p, [[maybe_unused]] uint8_t* p2,
                                     const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                                     int64_t n) {
  const __m512i bytes = detail::rounded_quarters<4>(x, zero, lo, hi);
  if constexpr (!two) return store_n(p, xsimd::batch<uint8_t, A>(bytes), n);
  const auto ones = static_cast<__mmask32>((uint64_t{1} << n) - 1);
  _mm256_mask_storeu_epi8(p, ones, _mm512_castsi512_si256(bytes));
  _mm256_mask_storeu_epi8(p2, ones, _mm512_extracti64x4_epi64(bytes, 1));
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
