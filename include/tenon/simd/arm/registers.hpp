// Registers of 64-bit Arm.
#pragma once

#include <concepts>

#include "tenon/base/abi.hpp"
#include "tenon/simd/batch/xsimd.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd::detail {

// Batches in the registers of NEON.
template <class A>
concept Neon = std::derived_from<A, xsimd::neon64>;

}  // namespace tenon::TENON_ABI::simd::detail

#endif
