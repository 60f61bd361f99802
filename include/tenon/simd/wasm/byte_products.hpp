// Products of bytes and of 16-bit integers of WebAssembly. The relaxed product of bytes is of no use: one of
// its operands may only have seven bits, which neither bytes of activations nor of weights have.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_products.hpp"

#if defined(TENON_WASM) && defined(__wasm_simd128__)

namespace tenon::TENON_ABI::simd {

template <detail::Simd128 A>
inline xsimd::batch<int32_t, A> mul_add_pairs(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return detail::batch_of<int32_t>(
      wasm_i32x4_add(detail::bits_of(z), wasm_i32x4_dot_i16x8(detail::bits_of(x), detail::bits_of(y))));
}

}  // namespace tenon::TENON_ABI::simd

#endif
