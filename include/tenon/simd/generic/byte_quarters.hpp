// Unpacking and packing of bytes by quarters of vectors on any processor, one by one.
#pragma once

#include "tenon/simd/batch/byte_quarters.hpp"

namespace tenon::TENON_ABI::simd {

template <class Arch>
inline batch<uint8_t, Arch> load_halves_n(const uint8_t* p, const uint8_t* q, int64_t n) {
  constexpr int width = lanes<uint8_t, Arch>;
  alignas(64) uint8_t lane[width] = {};
  std::memcpy(lane, p, static_cast<std::size_t>(n));
  std::memcpy(lane + width / 2, q, static_cast<std::size_t>(n));
  return loadu<Arch>(lane);
}

namespace detail {

/// The column whose word is in lane i of vector k.
constexpr int column_of_lane(int k, int i) { return 16 * (i / 4) + 4 * k + i % 4; }

template <bool high, int rows, class A>
inline void interleave_quarters_each(const xsimd::batch<uint8_t, A> (&row)[rows],
                                     xsimd::batch<int32_t, A>* to) {
  constexpr int width = static_cast<int>(xsimd::batch<int32_t, A>::size);
  alignas(64) uint8_t bytes[rows][4 * width];
  alignas(64) int32_t words[width];
  for (int r = 0; r < rows; ++r) storeu(bytes[r], row[r]);
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < width; ++i) {
      uint32_t word = 0;
      for (int r = 0; r < rows; ++r)
        word |= uint32_t{bytes[r][column_of_lane(k + 2 * high, i)]} << 32 / rows * r;
      words[i] = static_cast<int32_t>(word);
    }
    to[k] = xsimd::batch<int32_t, A>::load_aligned(words);
  }
}

}  // namespace detail

template <bool high, class A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[4], xsimd::batch<int32_t, A>* to) {
  detail::interleave_quarters_each<high>(row, to);
}

template <bool high, class A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[2], xsimd::batch<int32_t, A>* to) {
  detail::interleave_quarters_each<high>(row, to);
}

template <bool two, class A>
inline void store_rounded_quarters_n(uint8_t* p, [[maybe_unused]] uint8_t* p2,
                                     const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                                     int64_t n) {
  constexpr int width = static_cast<int>(xsimd::batch<float, A>::size);
  alignas(64) uint8_t by_vector[4 * width], by_column[4 * width];
  store_rounded<4>(by_vector, x, zero, lo, hi);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < width; ++i) by_column[detail::column_of_lane(k, i)] = by_vector[k * width + i];
  std::memcpy(p, by_column, static_cast<std::size_t>(n));
  if constexpr (two) std::memcpy(p2, by_column + 2 * width, static_cast<std::size_t>(n));
}

}  // namespace tenon::TENON_ABI::simd
