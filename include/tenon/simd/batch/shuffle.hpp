// Numbers in other places: halves of words, tables, every other number, small transposes.
#pragma once

#include "tenon/simd/batch/memory.hpp"

namespace tenon::simd {

/// Lane i as the high halves of lanes 2 i (low) and 2 i + 1 of the numbers of x and then y.
template <class A>
inline xsimd::batch<uint32_t, A> high_halves(const xsimd::batch<uint32_t, A>& x,
                                             const xsimd::batch<uint32_t, A>& y) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    alignas(64) static constexpr uint16_t odd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                     23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                     45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    return _mm512_permutex2var_epi16(x, _mm512_load_si512(odd), y);
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<uint32_t, A>::size);
    alignas(64) uint32_t from[2 * width], to[width];
    storeu(from, x);
    storeu(from + width, y);
    for (int i = 0; i < width; ++i) to[i] = (from[2 * i] >> 16) | (from[2 * i + 1] & 0xffff0000u);
    return xsimd::batch<uint32_t, A>::load_unaligned(to);
  }
}

/// table[index % period] of each lane, the table aligned. Fast where a register holds 16 words, or with the
/// period 8 and the table twice, eight.
template <int period, class T, class A>
inline xsimd::batch<T, A> look_up(const T (&table)[16], const xsimd::batch<uint32_t, A>& index) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64)
    return bits_as<T>(xsimd::batch<uint32_t, A>(_mm512_permutexvar_epi32(index, _mm512_load_si512(table))));
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && period == 8)
    return bits_as<T>(xsimd::batch<uint32_t, A>(
        _mm256_permutevar8x32_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(table)), index)));
  else
#endif
  {
    constexpr std::size_t width = xsimd::batch<T, A>::size;
    alignas(64) uint32_t at[width];
    alignas(64) T found[width];
    storeu(at, index);
    for (std::size_t i = 0; i < width; ++i) found[i] = table[at[i] % period];
    return xsimd::batch<T, A>::load_aligned(found);
  }
}

/// Lane index[i] of x, which is below the number of lanes, in lane i. T: of 32 bits.
template <class T, class A>
inline xsimd::batch<T, A> pick_lanes(const xsimd::batch<T, A>& x, const xsimd::batch<uint32_t, A>& index) {
  static_assert(sizeof(T) == 4);
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64)
    return bits_as<T>(xsimd::batch<uint32_t, A>(_mm512_permutexvar_epi32(index, bits_as<uint32_t>(x))));
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32)
    return bits_as<T>(xsimd::batch<uint32_t, A>(_mm256_permutevar8x32_epi32(bits_as<uint32_t>(x), index)));
  else
#endif
  {
    constexpr std::size_t width = xsimd::batch<T, A>::size;
    alignas(64) uint32_t at[width];
    alignas(64) T from[width], to[width];
    storeu(at, index);
    storeu(from, x);
    for (std::size_t i = 0; i < width; ++i) to[i] = from[at[i]];
    return xsimd::batch<T, A>::load_aligned(to);
  }
}

/// The masks of load_even_masked for lanes whose bit is set.
template <class T, class Arch>
constexpr uint64_t even_masks(uint64_t bits) {
  constexpr int half = lanes<T, Arch> / 2;
  // Bit i goes to bit 2 i, in each half of the word.
  uint64_t x = (bits & ((uint64_t{1} << half) - 1)) | (bits >> half) << 32;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
  x = (x | x << 2) & 0x3333333333333333u;
  x = (x | x << 1) & 0x5555555555555555u;
  return (x & 0xffffffffu) | (x >> 32) << 33;
}

namespace detail {

/// Lanes 0, 2, 4... of `low` and then 1, 3, 5... of `high`.
template <class Arch, class T, class A>
inline batch<T, Arch> join_even(const xsimd::batch<T, A>& low, const xsimd::batch<T, A>& high) {
  constexpr int width = lanes<T, Arch>;
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    if constexpr (sizeof(T) == 4) {
      const __m512i pick = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
      return _mm512_permutex2var_ps(low, pick, high);
    } else {
      return _mm512_permutex2var_pd(low, _mm512_setr_epi64(0, 2, 4, 6, 9, 11, 13, 15), high);
    }
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32 && sizeof(T) == 4) {
    const __m256 mixed = _mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 2, 0));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), _MM_SHUFFLE(3, 1, 2, 0)));
  } else
#endif
  {
    alignas(64) T a[width], b[width];
    storeu(a, low);
    storeu(b, high);
    for (int i = width / 2; i-- > 0;) b[width / 2 + i] = b[2 * i + 1];
    for (int i = 0; i < width / 2; ++i) b[i] = a[2 * i];
    return loadu<Arch>(b);
  }
}

}  // namespace detail

// The second of two loads begins one early, so that it ends with the last number wanted.

/// Lane i from p[2 * i]. Reads up to the last of these. T: float, double.
template <class Arch, class T>
inline batch<T, Arch> load_even(const T* p) {
  return detail::join_even<Arch>(loadu<Arch>(p), loadu<Arch>(p + lanes<T, Arch> - 1));
}

/// The numbers of x and then y, divided into the ones at even and at odd places. T: float.
template <class T, class A>
inline void split_pairs(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y, xsimd::batch<T, A>& even,
                        xsimd::batch<T, A>& odd) {
  static_assert(std::is_same_v<T, float>);
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const __m512i pick = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    even = _mm512_permutex2var_ps(x, pick, y);
    odd = _mm512_permutex2var_ps(x, _mm512_add_epi32(pick, _mm512_set1_epi32(1)), y);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    const auto in_order = [](__m256 v) {
      return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), _MM_SHUFFLE(3, 1, 2, 0)));
    };
    even = in_order(_mm256_shuffle_ps(x, y, _MM_SHUFFLE(2, 0, 2, 0)));
    odd = in_order(_mm256_shuffle_ps(x, y, _MM_SHUFFLE(3, 1, 3, 1)));
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
    alignas(64) T from[2 * width], to[2 * width];
    storeu(from, x);
    storeu(from + width, y);
    for (int i = 0; i < width; ++i) to[i] = from[2 * i], to[width + i] = from[2 * i + 1];
    even = xsimd::batch<T, A>::load_unaligned(to);
    odd = xsimd::batch<T, A>::load_unaligned(to + width);
  }
}

/// The inverse of split_pairs: x and then y have the numbers of `even` and `odd` in turn. T: float.
template <class T, class A>
inline void join_pairs(const xsimd::batch<T, A>& even, const xsimd::batch<T, A>& odd, xsimd::batch<T, A>& x,
                       xsimd::batch<T, A>& y) {
  static_assert(std::is_same_v<T, float>);
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    x = _mm512_permutex2var_ps(even, low, odd);
    y = _mm512_permutex2var_ps(even, _mm512_add_epi32(low, _mm512_set1_epi32(8)), odd);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    const __m256 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
    x = _mm256_permute2f128_ps(low, high, 0x20);
    y = _mm256_permute2f128_ps(low, high, 0x31);
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
    alignas(64) T from[2 * width], to[2 * width];
    storeu(from, even);
    storeu(from + width, odd);
    for (int i = 0; i < width; ++i) to[2 * i] = from[i], to[2 * i + 1] = from[width + i];
    x = xsimd::batch<T, A>::load_unaligned(to);
    y = xsimd::batch<T, A>::load_unaligned(to + width);
  }
}

/// Lane i from p[2 * i] if bit i was set, else zero, where `masks` are even_masks(bits). Reads nothing else.
/// T: float, double.
template <class Arch, class T>
inline batch<T, Arch> load_even_masked(const T* p, uint64_t masks) {
  return detail::join_even<Arch>(load_masked<Arch>(p, masks & 0xffffffffu, T{0}),
                                 load_masked<Arch>(p + lanes<T, Arch> - 1, masks >> 32, T{0}));
}

/// The first n lanes of load_even, 0 < n <= lanes, the others zero.
template <class Arch, class T>
inline batch<T, Arch> load_even_n(const T* p, int64_t n) {
  if (n == lanes<T, Arch>) return load_even<Arch>(p);
  return load_even_masked<Arch>(p, even_masks<T, Arch>((uint64_t{1} << n) - 1));
}

/// The side of transpose_tile's square: 16 bytes.
template <class T>
inline constexpr int tile_side = static_cast<int>(16 / sizeof(T));

/// to[j * to_row + i] = from[i * from_row + j] for i, j < tile_side<T>. T of 4 or 8 bytes.
template <class Arch, class T>
inline void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row) {
#if defined(__x86_64__)
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
#else
  for (int j = 0; j < tile_side<T>; ++j)
    for (int i = 0; i < tile_side<T>; ++i) to[j * to_row + i] = from[i * from_row + j];
#endif
}

/// Transposes as many rows as a register has lanes: to[j * to_row + i] = from[i * from_row + j] for i <
/// lanes, j < tile_side<T>. T of 4 or 8 bytes.
template <class Arch, class T>
inline void transpose_strip(const T* from, int64_t from_row, T* to, int64_t to_row) {
  // Quarters of registers are rows 4 apart, so that the shuffles stay inside of quarters.
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64 && sizeof(T) == 4) {
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
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32 && sizeof(T) == 4) {
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
  } else
#endif
  {
    for (int i = 0; i < lanes<T, Arch>; i += tile_side<T>)
      transpose_tile<Arch>(from + i * from_row, from_row, to + i, to_row);
  }
}

}  // namespace tenon::simd
