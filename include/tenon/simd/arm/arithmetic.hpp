// Arithmetic of 64-bit Arm.
#pragma once

#include <concepts>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

// xsimd multiplies by an estimate of the reciprocal.
template <std::same_as<float> T, detail::Neon A>
inline xsimd::batch<T, A> div(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  return vdivq_f32(x, y);
}

}  // namespace tenon::TENON_ABI::simd

#endif
