// Registers of WebAssembly.
#pragma once

#include <concepts>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/xsimd.hpp"

#if defined(TENON_WASM) && defined(__wasm_simd128__)

namespace tenon::TENON_ABI::simd::detail {

// Batches in registers, and levels that have them.
template <class A>
concept Simd128 = std::same_as<A, xsimd::Vector16>;
template <class Arch>
concept HasSimd128 = Arch::register_bytes == 16;

template <class T, Simd128 A>
inline v128_t bits_of(const xsimd::batch<T, A>& x) {
  return (v128_t)x.data;
}
template <class T, Simd128 A = xsimd::Vector16>
inline xsimd::batch<T, A> batch_of(v128_t bits) {
  return (typename xsimd::batch<T, A>::register_type)bits;
}

// The bytes of a and b alternately, of their lower or upper halves, and the same for their 16-bit words.
template <bool high>
inline v128_t alternate_bytes(v128_t a, v128_t b) {
  if constexpr (high)
    return wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  else return wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
template <bool high>
inline v128_t alternate_words(v128_t a, v128_t b) {
  if constexpr (high) return wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  else return wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

}  // namespace tenon::TENON_ABI::simd::detail

#endif
