// Conversions of bytes of WebAssembly.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_conversions.hpp"

#if defined(TENON_WASM) && defined(__wasm_simd128__)

namespace tenon::TENON_ABI::simd {

template <detail::HasSimd128 Arch>
inline batch<int32_t, Arch> load_bytes(const uint8_t* p) {
  return detail::batch_of<int32_t>(
      wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(p))));
}

template <detail::HasSimd128 Arch>
inline batch<int32_t, Arch> load_signed_bytes(const int8_t* p) {
  return detail::batch_of<int32_t>(
      wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p))));
}

template <detail::Simd128 A>
inline void store_bytes(uint8_t* p, const xsimd::batch<int32_t, A>& v) {
  const v128_t x = detail::bits_of(v);
  wasm_v128_store32_lane(p, wasm_i8x16_shuffle(x, x, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12), 0);
}

template <int count, detail::Simd128 A>
  requires(count == 4)
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                          uint8_t flip) {
  using F = xsimd::batch<float, A>;
  const F least(static_cast<float>(lo - zero)), most(static_cast<float>(hi - zero));
  const xsimd::batch<int32_t, A> shift(zero);
  const auto words = [&](int k) {
    return detail::bits_of(round_bytes(F(min(max(x[k], least), most)), shift));
  };
  // The low halves of the words, and then the low bytes of these.
  const auto halves = [&](int k) {
    return wasm_i16x8_shuffle(words(k), words(k + 1), 0, 2, 4, 6, 8, 10, 12, 14);
  };
  const v128_t bytes =
      wasm_i8x16_shuffle(halves(0), halves(2), 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  wasm_v128_store(p, wasm_v128_xor(bytes, wasm_u8x16_splat(flip)));
}

}  // namespace tenon::TENON_ABI::simd

#endif
