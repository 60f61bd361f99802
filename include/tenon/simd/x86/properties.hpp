// Properties of the levels of x86.
#pragma once

#include "tenon/simd/properties.hpp"
#include "tenon/simd/x86/levels.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

template <detail::HasAvx2 Arch>
inline constexpr bool has_dot_bytes_16<Arch> = true;

template <detail::AtAvx512 Arch>
inline constexpr bool may_have_tiles<Arch> = true;

template <detail::HasAvx2 Arch>
inline constexpr bool has_masks<Arch> = true;

template <detail::AtAvx512 Arch>
inline constexpr bool masks_are_free<Arch> = true;

template <detail::AtAvx512 Arch>
inline constexpr bool has_tables_of_16<Arch> = true;

// Baseline lacks SSSE3.
template <detail::HasAvx2 Arch>
inline constexpr bool has_byte_shuffles<Arch> = true;

}  // namespace tenon::TENON_ABI::simd

#endif
