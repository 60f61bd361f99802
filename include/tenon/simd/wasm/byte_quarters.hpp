// Unpacking of bytes by quarters of vectors of WebAssembly: the columns of a vector of four words are
// consecutive.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_quarters.hpp"

#if defined(TENON_WASM) && defined(__wasm_simd128__)

namespace tenon::TENON_ABI::simd {

template <bool high, detail::Simd128 A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[4], xsimd::batch<int32_t, A>* to) {
  const v128_t ab = detail::alternate_bytes<high>(detail::bits_of(row[0]), detail::bits_of(row[1]));
  const v128_t cd = detail::alternate_bytes<high>(detail::bits_of(row[2]), detail::bits_of(row[3]));
  to[0] = detail::batch_of<int32_t>(detail::alternate_words<false>(ab, cd));
  to[1] = detail::batch_of<int32_t>(detail::alternate_words<true>(ab, cd));
}

template <bool high, detail::Simd128 A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[2], xsimd::batch<int32_t, A>* to) {
  const v128_t ab = detail::alternate_bytes<high>(detail::bits_of(row[0]), detail::bits_of(row[1]));
  to[0] = detail::batch_of<int32_t>(wasm_u16x8_extend_low_u8x16(ab));
  to[1] = detail::batch_of<int32_t>(wasm_u16x8_extend_high_u8x16(ab));
}

}  // namespace tenon::TENON_ABI::simd

#endif
