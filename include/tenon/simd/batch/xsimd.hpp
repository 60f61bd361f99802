// xsimd, and the compiler's intrinsics for the processor family: no other header includes them. Differences
// between versions 8.1 to 14 of xsimd are hidden here and in x86/xsimd.hpp.
#pragma once

#include "tenon/base/abi.hpp"

// GCC 12's AVX-512 intrinsics read variables that they leave uninitialised on purpose, and warn when inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "tenon/simd/x86/xsimd.hpp"

// xsimd takes Emscripten for the only compiler of WebAssembly.
#if defined(__wasm_simd128__)
#include <xsimd/config/xsimd_config.hpp>
#if defined(XSIMD_WITH_WASM) && !XSIMD_WITH_WASM
#undef XSIMD_WITH_WASM
#define XSIMD_WITH_WASM 1
#undef XSIMD_NO_SUPPORTED_ARCHITECTURE
#endif
#endif

#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#if defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#error Kernels need registers that xsimd supports: it supports none for this processor with these flags.
#include <nothing, which ends the compilation here>
#endif

namespace tenon::TENON_ABI::simd::detail {

/// The sum of all lanes. T: float, double.
template <class T, class A>
inline T add_lanes(const xsimd::batch<T, A>& v) {
#if XSIMD_VERSION_MAJOR >= 9
  return xsimd::reduce_add(v);
#else
  return xsimd::hadd(v);
#endif
}

}  // namespace tenon::TENON_ABI::simd::detail
