// Shuffles of bytes of any processor, one by one.
#pragma once

#include "tenon/simd/batch/byte_shuffles.hpp"

namespace tenon::TENON_ABI::simd {

template <class Arch>
inline void transpose_words(const uint8_t* from, int64_t from_row, uint32_t* to, int64_t to_row) {
  for (int i = 0; i < 4; ++i)
    for (int p = 0; p < 4; ++p) std::memcpy(to + p * to_row + i, from + i * from_row + 4 * p, 4);
}

template <class Arch>
inline void transpose_bytes(int32_t a, int32_t b, int32_t c, int32_t d, int32_t* to) {
  for (int i = 0; i < 4; ++i) {
    const auto byte = [&](int32_t x, int at) { return (static_cast<uint32_t>(x) >> 8 * i & 255) << 8 * at; };
    to[i] = static_cast<int32_t>(byte(a, 0) | byte(b, 1) | byte(c, 2) | byte(d, 3));
  }
}

template <class Arch>
inline void interleave_bytes(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                             uint32_t* to) {
  for (int j = 0; j < 16; ++j)
    to[j] = r0[j] | uint32_t{r1[j]} << 8 | uint32_t{r2[j]} << 16 | uint32_t{r3[j]} << 24;
}

template <class Arch>
inline void interleave_rows(const uint8_t* const* row, int rows, uint8_t flip, uint8_t* to) {
  uint32_t words[16];
  const auto at = [&](int r) { return row[r < rows ? r : 0]; };
  interleave_bytes<Arch>(at(0), at(1), at(2), at(3), words);
  for (int j = 0; j < 16; ++j)
    for (int r = 0; r < rows; ++r) *to++ = static_cast<uint8_t>(words[j] >> 8 * r) ^ flip;
}

template <class Arch>
inline void interleave_pairs(const uint8_t* r0, const uint8_t* r1, uint8_t flip, int32_t zero, int32_t* to) {
  for (int j = 0; j < 16; ++j)
    to[j] = static_cast<int32_t>((static_cast<uint32_t>((r0[j] ^ flip) - zero) & 0xffff) |
                                 static_cast<uint32_t>((r1[j] ^ flip) - zero) << 16);
}

template <class Arch, class A>
inline void interleave_vectors(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                               xsimd::batch<int32_t, A>* to) {
  constexpr int columns = 4 * lanes<int32_t, Arch>;
  alignas(64) uint32_t words[columns];
  for (int j = 0; j < columns; j += 16) interleave_bytes<Arch>(r0 + j, r1 + j, r2 + j, r3 + j, words + j);
  for (int k = 0; k < 4; ++k)
    to[k] = loadu<Arch>(reinterpret_cast<const int32_t*>(words) + k * lanes<int32_t, Arch>);
}

}  // namespace tenon::TENON_ABI::simd
