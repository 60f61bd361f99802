// What kernels ask of a level when they are compiled. A family states what differs from any processor.
#pragma once

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::simd {

/// Whether the level has the instructions of dot_bytes_16.
template <class Arch>
inline constexpr bool has_dot_bytes_16 = false;

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/x86/properties.hpp"
