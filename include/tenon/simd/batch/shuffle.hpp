// Rearranged numbers: halves of words, tables, every other number, small transposes.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "tenon/simd/batch/memory.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {
template <class Place, class T, class A, int... i>
inline xsimd::batch<T, A> pick(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y, Place place,
                               std::integer_sequence<int, i...>) {
  using Lanes [[gnu::vector_size(bytes<A>)]] = T;
  return std::bit_cast<typename xsimd::batch<T, A>::register_type>(
      __builtin_shufflevector(std::bit_cast<Lanes>(x.data), std::bit_cast<Lanes>(y.data), place(i)...));
}

/// Lane i is number place(i) of the numbers of x and then y. `place` is stateless, so that the compiler,
/// which chooses the instructions, knows the places.
template <class T, class A, class Place>
inline xsimd::batch<T, A> pick(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y, Place place) {
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  return pick(x, y, place, std::make_integer_sequence<int, width>{});
}

/// Every other number of x, starting at index `of_x`, and then of y, starting at index `of_y`: 0 or 1. T:
/// float, double.
template <int of_x, int of_y, class T, class A>
inline xsimd::batch<T, A> pick_alternate(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
#if defined(__AVX2__)
  // g++ would generate twice the instructions.
  if constexpr (bytes<A> == 32 && sizeof(T) == 4) {
    const __m256 mixed = _mm256_shuffle_ps(x, y, _MM_SHUFFLE(2 + of_y, of_y, 2 + of_x, of_x));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), _MM_SHUFFLE(3, 1, 2, 0)));
  } else
#endif
  {
    constexpr int half = static_cast<int>(xsimd::batch<T, A>::size / 2);
    return pick(x, y, [](int i) { return 2 * i + (i < half ? of_x : of_y); });
  }
}

/// table[index % period] of each lane, one by one.
template <int period, class T, class A>
inline xsimd::batch<T, A> look_up_each(const T* table, const xsimd::batch<uint32_t, A>& index) {
  constexpr std::size_t width = xsimd::batch<T, A>::size;
  alignas(64) uint32_t at[width];
  alignas(64) T found[width];
  storeu(at, index);
  for (std::size_t i = 0; i < width; ++i) found[i] = table[at[i] % period];
  return xsimd::batch<T, A>::load_aligned(found);
}
}  // namespace detail

/// Lane i as the high halves of lanes 2 i (low) and 2 i + 1 of the numbers of x and then y.
template <class A>
inline xsimd::batch<uint32_t, A> high_halves(const xsimd::batch<uint32_t, A>& x,
                                             const xsimd::batch<uint32_t, A>& y) {
  return bits_as<uint32_t>(
      detail::pick(bits_as<uint16_t>(x), bits_as<uint16_t>(y), [](int i) { return 2 * i + 1; }));
}

/// Lane index[i] % lanes of x in lane i. T: of 32 bits.
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
    alignas(64) T from[width];
    storeu(from, x);
    return detail::look_up_each<width>(from, index);
  }
}

/// table[index % period] of each lane, with an aligned table. Fast if a register holds 16 words, or eight
/// with the period 8 and the table stored twice.
/// period 8 and the table twice, eight.
template <int period, class T, class A>
inline xsimd::batch<T, A> look_up(const T (&table)[16], const xsimd::batch<uint32_t, A>& index) {
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  if constexpr (width == 16 || (width == 8 && period == 8))
    return pick_lanes(xsimd::batch<T, A>::load_aligned(table), index);
  else return detail::look_up_each<period>(table, index);
}

/// The masks of load_even_masked for lanes whose bit is set.
template <class T, class Arch>
constexpr uint64_t even_masks(uint64_t bits) {
  constexpr int half = lanes<T, Arch> / 2;
  // Bit i moves to bit 2 i, in each half of the word.
  uint64_t x = (bits & ((uint64_t{1} << half) - 1)) | (bits >> half) << 32;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
  x = (x | x << 2) & 0x3333333333333333u;
  x = (x | x << 1) & 0x5555555555555555u;
  return (x & 0xffffffffu) | (x >> 32) << 33;
}

// The second of two loads begins one early, to end with the last number needed.

/// Lane i from p[2 * i]. Reads up to the last of these. T: float, double.
template <class Arch, class T>
inline batch<T, Arch> load_even(const T* p) {
  return detail::pick_alternate<0, 1>(batch<T, Arch>(loadu<Arch>(p)),
                                      batch<T, Arch>(loadu<Arch>(p + lanes<T, Arch> - 1)));
}

/// The numbers of x and then y, divided into the ones at even and at odd places.
template <class T, class A>
inline void split_pairs(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y, xsimd::batch<T, A>& even,
                        xsimd::batch<T, A>& odd) {
  even = detail::pick_alternate<0, 0>(x, y);
  odd = detail::pick_alternate<1, 1>(x, y);
}

/// The last n numbers of `before`, followed by as many numbers of x as fit. The compiler must know n, up to
/// `most`, after unrolling loops. T: of 32 bits.
template <int most, class T, class A>
[[gnu::always_inline]] inline xsimd::batch<T, A> shift_in(const xsimd::batch<T, A>& before,
                                                          const xsimd::batch<T, A>& x, int n) {
  static_assert(sizeof(T) == 4);
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  if constexpr (most == 0) {
    return x;
  } else {
    if (n < most) return shift_in<most - 1>(before, x, n);
#if defined(__AVX512F__)
    // g++ would use a register for the places.
    if constexpr (detail::bytes<A> == 64)
      return bits_as<T>(xsimd::batch<uint32_t, A>(
          _mm512_alignr_epi32(bits_as<uint32_t>(x), bits_as<uint32_t>(before), width - most)));
    else
#endif
      return detail::pick(before, x, [](int i) { return width - most + i; });
  }
}

/// The inverse of split_pairs: x and then y hold the numbers of `even` and `odd` alternately.
template <class T, class A>
inline void join_pairs(const xsimd::batch<T, A>& even, const xsimd::batch<T, A>& odd, xsimd::batch<T, A>& x,
                       xsimd::batch<T, A>& y) {
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  x = detail::pick(even, odd, [](int i) { return i / 2 + i % 2 * width; });
  y = detail::pick(even, odd, [](int i) { return width / 2 + i / 2 + i % 2 * width; });
}

/// Numbers from, from + step, ... of x in the lower half of the lanes, and of y in the upper half; past the
/// end, the last one is repeated.
template <int from, int step, class T, class A>
inline xsimd::batch<T, A> pick_each(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  return detail::pick(x, y, [](int i) {
    constexpr int width = static_cast<int>(xsimd::batch<T, A>::size), half = width / 2;
    return i / half * width + std::min(from + i % half * step, width - 1);
  });
}

/// Lane i from p[2 * i] if bit i was set, else zero, where `masks` are even_masks(bits). Reads nothing else.
/// T: float, double.
template <class Arch, class T>
inline batch<T, Arch> load_even_masked(const T* p, uint64_t masks) {
  return detail::pick_alternate<0, 1>(load_masked<Arch>(p, masks & 0xffffffffu, T{0}),
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
  // Quarters of registers are rows 4 apart, so that the shuffles stay inside quarters.
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

/// Transposes a block: to[j * to_row + i] = from[i * from_row + j] for i < rows, j < columns. `from` may be
/// any address. Fast for T of 4 or 8 bytes.
template <class Arch, class T>
void turn(const T* from, int64_t from_row, int64_t rows, int64_t columns, T* to, int64_t to_row) {
  int64_t tall = 0, wide = 0;  // of the part made up of whole tiles
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    constexpr int64_t side = tile_side<T>, L = lanes<T, Arch>;
    const int64_t strips = rows / L * L;
    tall = rows / side * side;
    wide = columns / side * side;
    // The lines of this many rows stay in the first-level cache while few rows of `to` are written.
    constexpr int64_t some = 32;
    for (int64_t first = 0; first < strips; first += some)
      for (int64_t j = 0; j < wide; j += side)
        for (int64_t i = first; i < std::min(first + some, strips); i += L)
          transpose_strip<Arch>(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
    for (int64_t j = 0; j < wide; j += side)
      for (int64_t i = strips; i < tall; i += side)
        transpose_tile<Arch>(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
  }
  const auto rest = [&](int64_t row, int64_t column, int64_t end) {
    for (int64_t j = column; row < rows && j < end; ++j)
      for (int64_t i = row; i < rows; ++i) to[j * to_row + i] = element<Arch>(from + i * from_row + j);
  };
  rest(tall, 0, wide);
  rest(0, wide, columns);
}

}  // namespace tenon::TENON_ABI::simd
