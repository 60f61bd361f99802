// Properties of the levels of 64-bit Arm.
#pragma once

#include "tenon/simd/arm/levels.hpp"
#include "tenon/simd/properties.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

template <detail::HasNeon Arch>
inline constexpr bool has_byte_shuffles<Arch> = true;

}  // namespace tenon::TENON_ABI::simd

#endif
