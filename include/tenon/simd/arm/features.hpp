// Features of the levels of 64-bit Arm.
#pragma once

#include "tenon/simd/arm/levels.hpp"
#include "tenon/simd/features.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

template <detail::HasDotprod Arch>
inline bool has_dot_bytes() {
  return true;
}

template <detail::HasNeon Arch>
inline bool has_byte_tables() {
  return true;
}

}  // namespace tenon::TENON_ABI::simd

#endif
