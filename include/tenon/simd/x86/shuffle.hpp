// Shuffles of x86.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- SSE2 ------------------------------------------------------------------------------------------------

template <detail::HasSse2 Arch, class T>
inline void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row) {
  if constexpr (sizeof(T) == 4) {
    const auto* f = reinterpret_cast<const float*>(from);
    auto* t = reinterpret_cast<float*>(to);
    __m128 r0 = _mm_loadu_ps(f), r1 = _mm_loadu_ps(f + from_row);
    __m128 r2 = _mm_loadu_ps(f + 2 * from_row), r3 = _mm_loadu_ps(f + 3 * from_row);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(t, r0);
    _mm_storeu_ps(t + to_row, r1);
    _mm_storeu_ps(t + 2 * to_row, r2);
    _mm_storeu_ps(t + 3 * to_row, r3);
  } else {
    const auto* f = reinterpret_cast<const double*>(from);
    auto* t = reinterpret_cast<double*>(to);
    const __m128d r0 = _mm_loadu_pd(f), r1 = _mm_loadu_pd(f + from_row);
    _mm_storeu_pd(t, _mm_unpacklo_pd(r0, r1));
    _mm_storeu_pd(t + to_row, _mm_unpackhi_pd(r0, r1));
  }
}

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

namespace detail {
// g++ would generate twice the instructions.
template <int of_x, int of_y, class T, Ymm A>
  requires(sizeof(T) == 4)
inline xsimd::batch<T, A> pick_alternate(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  const __m256 mixed = _mm256_shuffle_ps(x, y, _MM_SHUFFLE(2 + of_y, of_y, 2 + of_x, of_x));
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), _MM_SHUFFLE(3, 1, 2, 0)));
}
}  // namespace detail

template <class T, detail::Ymm A>
inline xsimd::batch<T, A> pick_lanes(const xsimd::batch<T, A>& x, const xsimd::batch<uint32_t, A>& index) {
  static_assert(sizeof(T) == 4);
  return bits_as<T>(xsimd::batch<uint32_t, A>(_mm256_permutevar8x32_epi32(bits_as<uint32_t>(x), index)));
}

// Halves of registers are rows 4 apart, so that the shuffles stay inside halves.
template <detail::AtAvx2 Arch, class T>
  requires(sizeof(T) == 4)
inline void transpose_strip(const T* from, int64_t from_row, T* to, int64_t to_row) {
  __m256 r[4];
  for (int k = 0; k < 4; ++k) {
    const auto* f = reinterpret_cast<const float*>(from + k * from_row);
    r[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(f)), _mm_loadu_ps(f + 4 * from_row), 1);
  }
  const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1])),
                b = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3])),
                c = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1])),
                d = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));
  auto* t = reinterpret_cast<float*>(to);
  _mm256_storeu_ps(t, _mm256_castpd_ps(_mm256_unpacklo_pd(a, b)));
  _mm256_storeu_ps(t + to_row, _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
  _mm256_storeu_ps(t + 2 * to_row, _mm256_castpd_ps(_mm256_unpacklo_pd(c, d)));
  _mm256_storeu_ps(t + 3 * to_row, _mm256_castpd_ps(_mm256_unpackhi_pd(c, d)));
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

namespace detail {
// g++ would use a register for the places.
template <int count, class T, Zmm A>
inline xsimd::batch<T, A> shift_in_last(const xsimd::batch<T, A>& before, const xsimd::batch<T, A>& x) {
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  return bits_as<T>(xsimd::batch<uint32_t, A>(
      _mm512_alignr_epi32(bits_as<uint32_t>(x), bits_as<uint32_t>(before), width - count)));
}
}  // namespace detail

template <class T, detail::Zmm A>
inline xsimd::batch<T, A> pick_lanes(const xsimd::batch<T, A>& x, const xsimd::batch<uint32_t, A>& index) {
  static_assert(sizeof(T) == 4);
  return bits_as<T>(xsimd::batch<uint32_t, A>(_mm512_permutexvar_epi32(index, bits_as<uint32_t>(x))));
}

// Quarters of registers are rows 4 apart, so that the shuffles stay inside quarters.
template <detail::AtAvx512 Arch, class T>
  requires(sizeof(T) == 4)
inline void transpose_strip(const T* from, int64_t from_row, T* to, int64_t to_row) {
  __m512 r[4];
  for (int k = 0; k < 4; ++k) {
    const auto* f = reinterpret_cast<const float*>(from + k * from_row);
    r[k] = _mm512_castps128_ps512(_mm_loadu_ps(f));
    r[k] = _mm512_mask_broadcast_f32x4(r[k], 0x00f0, _mm_loadu_ps(f + 4 * from_row));
    r[k] = _mm512_mask_broadcast_f32x4(r[k], 0x0f00, _mm_loadu_ps(f + 8 * from_row));
    r[k] = _mm512_mask_broadcast_f32x4(r[k], 0xf000, _mm_loadu_ps(f + 12 * from_row));
  }
  const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1])),
                b = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3])),
                c = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1])),
                d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));
  _mm512_storeu_pd(to, _mm512_unpacklo_pd(a, b));
  _mm512_storeu_pd(to + to_row, _mm512_unpackhi_pd(a, b));
  _mm512_storeu_pd(to + 2 * to_row, _mm512_unpacklo_pd(c, d));
  _mm512_storeu_pd(to + 3 * to_row, _mm512_unpackhi_pd(c, d));
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
