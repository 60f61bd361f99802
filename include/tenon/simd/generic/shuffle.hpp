// Shuffles of any processor: the compiler chooses the instructions.
#pragma once

#include "tenon/simd/batch/shuffle.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

template <int of_x, int of_y, class T, class A>
inline xsimd::batch<T, A> pick_alternate(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  constexpr int half = static_cast<int>(xsimd::batch<T, A>::size / 2);
  return pick(x, y, [](int i) { return 2 * i + (i < half ? of_x : of_y); });
}

template <int count, class T, class A>
inline xsimd::batch<T, A> shift_in_last(const xsimd::batch<T, A>& before, const xsimd::batch<T, A>& x) {
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  return pick(before, x, [](int i) { return width - count + i; });
}

}  // namespace detail

template <class T, class A>
inline xsimd::batch<T, A> pick_lanes(const xsimd::batch<T, A>& x, const xsimd::batch<uint32_t, A>& index) {
  constexpr std::size_t width = xsimd::batch<T, A>::size;
  alignas(64) T from[width];
  storeu(from, x);
  return detail::look_up_each<width>(from, index);
}

template <class Arch, class T>
inline void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row) {
  for (int j = 0; j < tile_side<T>; ++j)
    for (int i = 0; i < tile_side<T>; ++i) to[j * to_row + i] = from[i * from_row + j];
}

template <class Arch, class T>
inline void transpose_strip(const T* from, int64_t from_row, T* to, int64_t to_row) {
  for (int i = 0; i < lanes<T, Arch>; i += tile_side<T>)
    transpose_tile<Arch>(from + i * from_row, from_row, to + i, to_row);
}

}  // namespace tenon::TENON_ABI::simd
