// Properties of the level of WebAssembly.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/properties.hpp"

#if defined(TENON_WASM) && defined(__wasm_simd128__)

namespace tenon::TENON_ABI::simd {

template <class Arch>
  requires(Arch::register_bytes == 16)
inline constexpr bool reloads_vectors<Arch> = true;

template <class Arch>
  requires(Arch::register_bytes == 16)
inline constexpr bool has_costly_loops<Arch> = true;

}  // namespace tenon::TENON_ABI::simd

#endif
