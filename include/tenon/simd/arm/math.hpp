// Steps of elementary functions on 64-bit Arm.
#pragma once

#include <concepts>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

// xsimd multiplies by an estimate of the root's reciprocal.
template <std::same_as<float> T, detail::Neon A>
inline xsimd::batch<T, A> sqrt(const xsimd::batch<T, A>& x) {
  return vsqrtq_f32(x);
}

}  // namespace tenon::TENON_ABI::simd

#endif
