// Vectors of one element type at one instruction-set level: the only header that includes xsimd and
// intrinsics. It is written for xsimd 8.1; names that later versions changed are hidden here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/simd/arch.hpp"

// GCC 12's AVX-512 intrinsics read variables that they leave uninitialised on purpose, and warn when inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace tenon::TENON_ABI::simd {

namespace detail {

// xsimd's name for registers of this many bytes.
#if defined(__x86_64__)
template <int bytes>
using registers = std::conditional_t<bytes == 64, xsimd::avx512bw,
                                     std::conditional_t<bytes == 32, xsimd::fma3<xsimd::avx2>, xsimd::sse2>>;
#else
template <int bytes>
using registers = xsimd::default_arch;
#endif

// A register's bytes: 16 at SSE2, 32 at AVX2 with FMA and F16C, 64 at AVX-512 F, BW, DQ and VL.
template <class A>
inline constexpr std::size_t bytes = sizeof(xsimd::batch<float, A>);

}  // namespace detail

// xsimd's own, lane by lane. Called qualified, like all functions here.
using xsimd::abs, xsimd::nearbyint, xsimd::isnan, xsimd::select;
using xsimd::all, xsimd::any;  ///< whether all or any of the lanes of a comparison hold
using xsimd::max, xsimd::min, xsimd::to_float;

/// Which lanes differ; NaN differs from everything. xsimd 8.1's x != y is false for NaN at the levels above
/// Baseline.
template <class T, class A>
inline xsimd::batch_bool<T, A> not_equal(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  return !(x == y);
}

/// A register of T at a level. T: int8..64, uint8..64, float, double.
template <class T, class Arch>
using batch = xsimd::batch<T, detail::registers<Arch::register_bytes>>;

/// The comparison result that belongs to `batch<T, Arch>`.
template <class T, class Arch>
using batch_bool = xsimd::batch_bool<T, detail::registers<Arch::register_bytes>>;

/// Elements in a `batch<T, Arch>`.
template <class T, class Arch>
inline constexpr int lanes = static_cast<int>(batch<T, Arch>::size);

/// All lanes equal to x.
template <class Arch, class T>
inline batch<T, Arch> broadcast(T x) {
  return batch<T, Arch>(x);
}

/// v, computed once: GCC would reload a number from memory for every product that uses it.
template <class T, class A>
inline xsimd::batch<T, A> in_register(const xsimd::batch<T, A>& v) {
#if defined(__x86_64__)
  typename xsimd::batch<T, A>::register_type r = v;
#if defined(__AVX512F__)
  asm("" : "+v"(r));
#else
  asm("" : "+x"(r));
#endif
  return r;
#else
  return v;
#endif
}

/// p, computed once: GCC would keep and increment a separate pointer for each number that a loop reads there.
template <class T>
inline T* in_register(T* p) {
  asm("" : "+r"(p));
  return p;
}

/// The lanes' bits read as lanes of U (the same register width).
template <class U, class T, class A>
inline xsimd::batch<U, A> bits_as(const xsimd::batch<T, A>& v) {
#if XSIMD_VERSION_MAJOR >= 10
  return xsimd::bitwise_cast<U>(v);
#else
  return xsimd::bitwise_cast<xsimd::batch<U, A>>(v);
#endif
}

}  // namespace tenon::TENON_ABI::simd
