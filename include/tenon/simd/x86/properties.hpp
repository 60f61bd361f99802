// Properties of the levels of x86.
#pragma once

#include "tenon/simd/properties.hpp"
#include "tenon/simd/x86/levels.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

template <detail::HasAvx2 Arch>
inline constexpr bool has_dot_bytes_16<Arch> = true;

}  // namespace tenon::TENON_ABI::simd

#endif
