// Rearranged numbers: halves of words, tables, every other number, small transposes.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/simd/batch/memory.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {
template <class Place, class T, class A, int... i>
inline xsimd::batch<T, A> pick(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y, Place place,
                               std::integer_sequence<int, i...>) {
  using Lanes = Vector<T, sizeof...(i)>;
  return std::bit_cast<typename xsimd::batch<T, A>::register_type>(
      shuffle<place(i)...>(std::bit_cast<Lanes>(x.data), std::bit_cast<Lanes>(y.data)));
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
inline xsimd::batch<T, A> pick_alternate(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y);

/// The last `count` numbers of `before`, followed by as many numbers of x as fit. T: of 32 bits.
template <int count, class T, class A>
inline xsimd::batch<T, A> shift_in_last(const xsimd::batch<T, A>& before, const xsimd::batch<T, A>& x);

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

/// Lane index[i] % lanes of x in lane i. T: of 32 bits.
template <class T, class A>
inline xsimd::batch<T, A> pick_lanes(const xsimd::batch<T, A>& x, const xsimd::batch<uint32_t, A>& index);

/// The side of transpose_tile's square: 16 bytes.
template <class T>
inline constexpr int tile_side = static_cast<int>(16 / sizeof(T));

/// to[j * to_row + i] = from[i * from_row + j] for i, j < tile_side<T>. T of 4 or 8 bytes.
template <class Arch, class T>
inline void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row);

/// Transposes as many rows as a register has lanes: to[j * to_row + i] = from[i * from_row + j] for i <
/// lanes, j < tile_side<T>. T of 4 or 8 bytes.
template <class Arch, class T>
inline void transpose_strip(const T* from, int64_t from_row, T* to, int64_t to_row);

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/shuffle.hpp"
#include "tenon/simd/wasm/shuffle.hpp"
#include "tenon/simd/x86/shuffle.hpp"

#include "tenon/simd/generic/shuffle.hpp"

namespace tenon::TENON_ABI::simd {

/// Lane i as the high halves of lanes 2 i (low) and 2 i + 1 of the numbers of x and then y.
template <class A>
inline xsimd::batch<uint32_t, A> high_halves(const xsimd::batch<uint32_t, A>& x,
                                             const xsimd::batch<uint32_t, A>& y) {
  return bits_as<uint32_t>(
      detail::pick(bits_as<uint16_t>(x), bits_as<uint16_t>(y), [](int i) { return 2 * i + 1; }));
}

/// table[index % period] of each lane, with an aligned table. Fast if a register holds 16 words, or eight
/// with the period 8 and the table stored twice.
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
TENON_ALWAYS_INLINE inline xsimd::batch<T, A> shift_in(const xsimd::batch<T, A>& before,
                                                       const xsimd::batch<T, A>& x, int n) {
  static_assert(sizeof(T) == 4);
  if constexpr (most == 0) {
    return x;
  } else {
    if (n < most) return shift_in<most - 1>(before, x, n);
    return detail::shift_in_last<most>(before, x);
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
