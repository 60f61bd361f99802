// xsimd, and the compiler's intrinsics for the processor family: no other header includes them. Differences
// between versions 8.1 to 14 of xsimd are hidden here and in x86/xsimd.hpp. Families without registers that
// all of these versions know use the compiler's vector types by the same names.
#pragma once

#include "tenon/base/abi.hpp"

#if !defined(TENON_WASM) && !defined(TENON_GENERIC)

// GCC 12's AVX-512 intrinsics read variables that they leave uninitialised on purpose, and warn when inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "tenon/simd/x86/xsimd.hpp"

#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#else
#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif
#include "tenon/simd/generic/xsimd.hpp"
#endif

namespace tenon::TENON_ABI::simd::detail {

/// The sum of all lanes. T: float, double.
template <class T, class A>
inline T add_lanes(const xsimd::batch<T, A>& v) {
#if defined(TENON_WASM) || defined(TENON_GENERIC) || XSIMD_VERSION_MAJOR >= 9
  return xsimd::reduce_add(v);
#else
  return xsimd::hadd(v);
#endif
}

}  // namespace tenon::TENON_ABI::simd::detail
