// Arithmetic of WebAssembly.
#pragma once

#include <concepts>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_WASM) && defined(__wasm_relaxed_simd__)

namespace tenon::TENON_ABI::simd {

// Rounded once where the machine has FMA, else twice.
template <std::same_as<float> T, detail::Simd128 A>
inline xsimd::batch<T, A> mul_add(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                  const xsimd::batch<T, A>& z) {
  return detail::batch_of<T>(
      wasm_f32x4_relaxed_madd(detail::bits_of(x), detail::bits_of(y), detail::bits_of(z)));
}
template <std::same_as<double> T, detail::Simd128 A>
inline xsimd::batch<T, A> mul_add(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                  const xsimd::batch<T, A>& z) {
  return detail::batch_of<T>(
      wasm_f64x2_relaxed_madd(detail::bits_of(x), detail::bits_of(y), detail::bits_of(z)));
}

}  // namespace tenon::TENON_ABI::simd

#endif
