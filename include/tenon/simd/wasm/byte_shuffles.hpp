// Shuffles of bytes of WebAssembly.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_conversions.hpp"

#if defined(TENON_WASM) && defined(__wasm_simd128__)

namespace tenon::TENON_ABI::simd {

template <detail::HasSimd128 Arch>
inline void transpose_bytes(int32_t a, int32_t b, int32_t c, int32_t d, int32_t* to) {
  const v128_t x = wasm_i32x4_make(a, b, c, d);
  wasm_v128_store(to, wasm_i8x16_shuffle(x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

template <detail::HasSimd128 Arch>
inline void interleave_bytes(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                             uint32_t* to) {
  using detail::alternate_bytes, detail::alternate_words;
  const v128_t a = wasm_v128_load(r0), b = wasm_v128_load(r1), c = wasm_v128_load(r2), d = wasm_v128_load(r3);
  const v128_t ab = alternate_bytes<false>(a, b), cd = alternate_bytes<false>(c, d);
  const v128_t ab_high = alternate_bytes<true>(a, b), cd_high = alternate_bytes<true>(c, d);
  wasm_v128_store(to, alternate_words<false>(ab, cd));
  wasm_v128_store(to + 4, alternate_words<true>(ab, cd));
  wasm_v128_store(to + 8, alternate_words<false>(ab_high, cd_high));
  wasm_v128_store(to + 12, alternate_words<true>(ab_high, cd_high));
}

template <detail::HasSimd128 Arch>
inline void interleave_pairs(const uint8_t* r0, const uint8_t* r1, uint8_t flip, int32_t zero, int32_t* to) {
  const v128_t flips = wasm_u8x16_splat(flip), zeros = wasm_i16x8_splat(static_cast<int16_t>(zero));
  const v128_t a = wasm_v128_xor(wasm_v128_load(r0), flips), b = wasm_v128_xor(wasm_v128_load(r1), flips);
  const v128_t low = detail::alternate_bytes<false>(a, b), high = detail::alternate_bytes<true>(a, b);
  wasm_v128_store(to, wasm_i16x8_sub(wasm_u16x8_extend_low_u8x16(low), zeros));
  wasm_v128_store(to + 4, wasm_i16x8_sub(wasm_u16x8_extend_high_u8x16(low), zeros));
  wasm_v128_store(to + 8, wasm_i16x8_sub(wasm_u16x8_extend_low_u8x16(high), zeros));
  wasm_v128_store(to + 12, wasm_i16x8_sub(wasm_u16x8_extend_high_u8x16(high), zeros));
}

}  // namespace tenon::TENON_ABI::simd

#endif
