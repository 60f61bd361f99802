// Conversions of bytes of x86.
#pragma once

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- SSE2 ------------------------------------------------------------------------------------------------

template <detail::AtSse2 Arch>
inline batch<int32_t, Arch> load_bytes(const uint8_t* p) {
  const __m128i none = _mm_setzero_si128();
  return _mm_unpacklo_epi16(
      _mm_unpacklo_epi8(_mm_cvtsi32_si128(element<Arch>(reinterpret_cast<const int*>(p))), none), none);
}

template <detail::AtSse2 Arch>
inline batch<int32_t, Arch> load_signed_bytes(const int8_t* p) {
  // Each byte moves to the top of its lane.
  const __m128i none = _mm_setzero_si128();
  const __m128i bytes = _mm_cvtsi32_si128(element<Arch>(reinterpret_cast<const int*>(p)));
  return _mm_srai_epi32(_mm_unpacklo_epi16(none, _mm_unpacklo_epi8(none, bytes)), 24);
}

template <detail::Xmm A>
inline void store_bytes(uint8_t* p, const xsimd::batch<int32_t, A>& v) {
  const __m128i low = _mm_and_si128(v, _mm_set1_epi32(255));
  const int word = _mm_cvtsi128_si32(_mm_packus_epi16(_mm_packs_epi32(low, low), low));
  std::memcpy(p, &word, 4);
}

template <int count, detail::Xmm A>
  requires(count % 2 == 0)
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                          uint8_t flip = 0) {
  const __m128i shift = _mm_set1_epi16(static_cast<int16_t>(zero));
  const auto pair = [&](int k) {
    return _mm_adds_epi16(_mm_packs_epi32(_mm_cvtps_epi32(x[k]), _mm_cvtps_epi32(x[k + 1])), shift);
  };
  const __m128i low = pair(0);
  __m128i bytes = _mm_packus_epi16(low, count == 4 ? pair(2) : low);
  bytes = _mm_max_epu8(bytes, _mm_set1_epi8(static_cast<char>(lo)));
  bytes = _mm_min_epu8(bytes, _mm_set1_epi8(static_cast<char>(hi)));
  bytes = _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(flip)));
  if constexpr (count == 4) _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
  else _mm_storel_epi64(reinterpret_cast<__m128i*>(p), bytes);
}

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

namespace detail {
/// Bytes of two or four vectors, see store_rounded. Each half has four bytes of each vector.
template <int count, class A>
inline __m256i rounded_halves(const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi) {
  static_assert(count == 2 || count == 4);
  const __m256i shift = _mm256_set1_epi16(static_cast<int16_t>(zero));
  const auto pair = [&](int k) {
    return _mm256_adds_epi16(_mm256_packs_epi32(_mm256_cvtps_epi32(x[k]), _mm256_cvtps_epi32(x[k + 1])),
                             shift);
  };
  const __m256i low = pair(0);
  const __m256i bytes = _mm256_max_epu8(_mm256_packus_epi16(low, count == 4 ? pair(2) : low),
                                        _mm256_set1_epi8(static_cast<char>(lo)));
  return _mm256_min_epu8(bytes, _mm256_set1_epi8(static_cast<char>(hi)));
}
}  // namespace detail

template <detail::AtAvx2 Arch>
inline batch<int32_t, Arch> load_bytes(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

template <detail::AtAvx2 Arch>
inline batch<int32_t, Arch> load_signed_bytes(const int8_t* p) {
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

template <detail::Ymm A>
inline void store_bytes(uint8_t* p, const xsimd::batch<int32_t, A>& v) {
  const __m256i low = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0c080400));
  const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), both);
}

template <int count, detail::Ymm A>
  requires(count % 2 == 0)
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                          uint8_t flip = 0) {
  __m256i bytes = detail::rounded_halves<count>(x, zero, lo, hi);
  bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(flip)));
  bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  if constexpr (count == 4) _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bytes);
  else _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(bytes));
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

namespace detail {
/// Bytes of up to four vectors, see store_rounded. Each quarter has four bytes of each vector.
template <int count, class A>
inline __m512i rounded_quarters(const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi) {
  // 16 bits saturate before and after the zero point is added, bytes afterwards.
  __m512i v[4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) v[k] = k < count ? _mm512_cvtps_epi32(x[k]) : _mm512_setzero_si512();
  const __m512i shift = _mm512_set1_epi16(static_cast<int16_t>(zero));
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), shift);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), shift);
  const __m512i bytes =
      _mm512_max_epu8(_mm512_packus_epi16(low, high), _mm512_set1_epi8(static_cast<char>(lo)));
  return _mm512_min_epu8(bytes, _mm512_set1_epi8(static_cast<char>(hi)));
}
/// The bytes of rounded_quarters in vector order.
template <class A>
inline __m512i in_order(__m512i quarters) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                  quarters);
}
}  // namespace detail

template <detail::AtAvx512 Arch>
inline batch<int32_t, Arch> load_bytes(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

template <detail::AtAvx512 Arch>
inline batch<int32_t, Arch> load_signed_bytes(const int8_t* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

template <detail::AtAvx512 Arch>
inline batch<int32_t, Arch> load_bytes_n(const uint8_t* p, int64_t n) {
  if (n == lanes<int32_t, Arch>) return load_bytes<Arch>(p);
  return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1), p));
}

template <detail::Zmm A>
inline void store_bytes(uint8_t* p, const xsimd::batch<int32_t, A>& v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
}

template <int count, detail::Zmm A>
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                          uint8_t flip = 0) {
  static_assert(count <= 4);
  const __m512i bytes =
      _mm512_xor_si512(detail::in_order<A>(detail::rounded_quarters<count>(x, zero, lo, hi)),
                       _mm512_set1_epi8(static_cast<char>(flip)));
  if constexpr (count == 4) _mm512_storeu_si512(p, bytes);
  if constexpr (count == 2 || count == 3)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(bytes));
  if constexpr (count == 1 || count == 3)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p) + count / 2 * 2,
                     _mm512_extracti32x4_epi32(bytes, count / 2 * 2));
}

template <int count, detail::Zmm A>
inline void store_rounded_n(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                            int64_t n) {
  constexpr auto whole = count * static_cast<int64_t>(xsimd::batch<float, A>::size);
  if (n >= whole) return store_rounded<count>(p, x, zero, lo, hi);
  _mm512_mask_storeu_epi8(p, (uint64_t{1} << n) - 1,
                          detail::in_order<A>(detail::rounded_quarters<count>(x, zero, lo, hi)));
}

template <detail::Zmm A>
inline xsimd::batch<uint8_t, A> look_up_bytes(const xsimd::batch<uint8_t, A>* table,
                                              const xsimd::batch<uint8_t, A>& x) {
  // The level does not include VBMI, so compilers other than Visual C++ have no intrinsic for it here.
  const auto pick = [&](int k) {
    __m512i found = x;
    const __m512i low = table[k], high = table[k + 1];
#if defined(TENON_VISUAL_CPP)
    found = _mm512_permutex2var_epi8(low, found, high);
#else
    asm("vpermi2b {%2, %1, %0|%0, %1, %2}" : "+v"(found) : "v"(low), "v"(high));
#endif
    return found;
  };
  return _mm512_mask_mov_epi8(pick(0), _mm512_movepi8_mask(x), pick(2));
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
