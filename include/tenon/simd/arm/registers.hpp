// Registers of 64-bit Arm.
#pragma once

#include <concepts>

#include "tenon/base/abi.hpp"
#include "tenon/simd/batch/xsimd.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

namespace detail {

// Batches in the registers of NEON.
template <class A>
concept Neon = std::derived_from<A, xsimd::neon64>;

}  // namespace detail

template <class T, detail::Neon A>
inline xsimd::batch<T, A> in_register(const xsimd::batch<T, A>& v) {
  typename xsimd::batch<T, A>::register_type r = v;
  asm("" : "+w"(r));
  return r;
}

}  // namespace tenon::TENON_ABI::simd

#endif
