// Products of bytes of x86. The levels do not include VNNI, so compilers other than Visual C++, whose
// intrinsics need no flags, may lack intrinsics for it. With them, GCC would reload weights for each product,
// which doubles the time.
#pragma once

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- SSE2 ------------------------------------------------------------------------------------------------

template <detail::Xmm A>
inline xsimd::batch<int32_t, A> mul_add_pairs(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return _mm_add_epi32(z, _mm_madd_epi16(x, y));
}

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

template <detail::Ymm A>
inline xsimd::batch<int32_t, A> mul_add_pairs(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return _mm256_add_epi32(z, _mm256_madd_epi16(x, y));
}

template <detail::Ymm A>
inline xsimd::batch<int32_t, A> dot_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& y,
                                          const xsimd::batch<int32_t, A>& z) {
#if defined(TENON_VISUAL_CPP)
  return _mm256_dpbusd_avx_epi32(z, x, y);
#else
  __m256i sum = z, u = x, s = y;
  asm("%{vex%} vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+x"(sum) : "x"(u), "x"(s));
  return sum;
#endif
}

template <detail::Ymm A>
inline xsimd::batch<int32_t, A> mul_add_bytes(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return _mm256_add_epi16(z, _mm256_maddubs_epi16(x, y));
}

template <detail::Ymm A>
inline xsimd::batch<int32_t, A> dot_bytes_16(const xsimd::batch<int32_t, A>& x,
                                             const xsimd::batch<int32_t, A>& y,
                                             const xsimd::batch<int32_t, A>& z) {
  return _mm256_add_epi32(z, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), _mm256_set1_epi16(1)));
}

template <detail::Ymm A>
inline xsimd::batch<int32_t, A> sum_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& z) {
  return dot_bytes_16(x, xsimd::batch<int32_t, A>(0x01010101), z);
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

template <detail::Zmm A>
inline xsimd::batch<int32_t, A> mul_add_pairs(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return _mm512_add_epi32(z, _mm512_madd_epi16(x, y));
}

template <detail::Zmm A>
inline xsimd::batch<int32_t, A> dot_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& y,
                                          const xsimd::batch<int32_t, A>& z) {
#if defined(TENON_VISUAL_CPP)
  return _mm512_dpbusd_epi32(z, x, y);
#else
  __m512i sum = z, u = x, s = y;
  asm("vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(u), "v"(s));
  return sum;
#endif
}

template <detail::Zmm A>
inline xsimd::batch<int32_t, A> mul_add_bytes(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return _mm512_add_epi16(z, _mm512_maddubs_epi16(x, y));
}

template <detail::Zmm A>
inline xsimd::batch<int32_t, A> dot_bytes_16(const xsimd::batch<int32_t, A>& x,
                                             const xsimd::batch<int32_t, A>& y,
                                             const xsimd::batch<int32_t, A>& z) {
  return _mm512_add_epi32(z, _mm512_madd_epi16(_mm512_maddubs_epi16(x, y), _mm512_set1_epi16(1)));
}

template <detail::Zmm A>
inline xsimd::batch<int32_t, A> sum_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& z) {
  return dot_bytes_16(x, xsimd::batch<int32_t, A>(0x01010101), z);
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
