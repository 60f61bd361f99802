// Loads and stores of WebAssembly.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/registers.hpp"

#if defined(TENON_WASM) && defined(__wasm_simd128__)

namespace tenon::TENON_ABI::simd {

template <detail::HasSimd128 Arch, class T>
  requires(sizeof(T) == 4)
inline batch<T, Arch> load_n(const T* p, int64_t n) {
  if (n >= 4) return loadu<Arch>(p);
  v128_t x = wasm_i32x4_const_splat(0);
  if (n >= 2) {
    x = wasm_v128_load64_zero(p);
    if (n == 3) x = wasm_v128_load32_lane(p + 2, x, 2);
  } else if (n == 1) {
    x = wasm_v128_load32_zero(p);
  }
  return detail::batch_of<T>(x);
}
template <detail::HasSimd128 Arch, class T>
  requires(sizeof(T) == 8)
inline batch<T, Arch> load_n(const T* p, int64_t n) {
  if (n >= 2) return loadu<Arch>(p);
  return detail::batch_of<T>(n == 1 ? wasm_v128_load64_zero(p) : wasm_i32x4_const_splat(0));
}

template <class T, detail::Simd128 A>
  requires(sizeof(T) == 4)
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n) {
  if (n >= 4) return storeu(p, v);
  const v128_t x = detail::bits_of(v);
  if (n >= 2) {
    wasm_v128_store64_lane(p, x, 0);
    if (n == 3) wasm_v128_store32_lane(p + 2, x, 2);
  } else if (n == 1) {
    wasm_v128_store32_lane(p, x, 0);
  }
}
template <class T, detail::Simd128 A>
  requires(sizeof(T) == 8)
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n) {
  if (n >= 2) return storeu(p, v);
  if (n == 1) wasm_v128_store64_lane(p, detail::bits_of(v), 0);
}

}  // namespace tenon::TENON_ABI::simd

#endif
