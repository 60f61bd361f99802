// Conversions between float and double of 64-bit Arm.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

template <detail::HasNeon Arch>
inline batch<double, Arch> load_as_double(const float* p) {
  return vcvt_f64_f32(vld1_f32(p));
}

template <detail::Neon A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v) {
  vst1_f32(p, vcvt_f32_f64(v));
}

}  // namespace tenon::TENON_ABI::simd

#endif
