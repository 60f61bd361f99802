// Properties of the levels of 64-bit Arm.
#pragma once

#include "tenon/simd/arm/levels.hpp"
#include "tenon/simd/properties.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

template <detail::HasDotprod Arch>
inline constexpr bool has_dot_bytes_16<Arch> = true;

#if defined(TENON_ARM_I8MM)
template <detail::HasDotprod Arch>
inline constexpr bool has_block_products<Arch> = true;
#else
template <detail::HasDotprod Arch>
inline constexpr int32_t dot_bytes_lowers<Arch> = 128;
#endif

template <detail::HasNeon Arch>
inline constexpr bool has_lane_products<Arch> = true;

template <detail::HasNeon Arch>
inline constexpr bool has_byte_shuffles<Arch> = true;

}  // namespace tenon::TENON_ABI::simd

#endif
