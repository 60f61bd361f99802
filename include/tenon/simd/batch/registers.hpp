// Vectors of one element type at one instruction-set level, by xsimd, of which versions 8 to 14 work.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/simd/arch.hpp"
#include "tenon/simd/batch/xsimd.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// xsimd's name for registers of this many bytes.
template <int bytes>
struct Registers {
  using type = xsimd::default_arch;
};

/// The bytes of a register.
template <class A>
inline constexpr std::size_t bytes = sizeof(xsimd::batch<float, A>);

}  // namespace detail

// xsimd's own, lane by lane. Called qualified, like all functions here.
using xsimd::abs, xsimd::nearbyint, xsimd::isnan, xsimd::select;
using xsimd::all, xsimd::any;  ///< whether all or any of the lanes of a comparison hold
using xsimd::max, xsimd::min;  ///< the second where the first is NaN; on 64-bit Arm not xsimd's
using xsimd::nearbyint_as_int, xsimd::to_float, xsimd::to_int;

/// Which lanes differ; NaN differs from everything. xsimd 8.1's x != y is false for NaN at the levels above
/// Baseline.
template <class T, class A>
inline xsimd::batch_bool<T, A> not_equal(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  return !(x == y);
}

/// A register of T at a level. T: int8..64, uint8..64, float, double.
template <class T, class Arch>
using batch = xsimd::batch<T, typename detail::Registers<Arch::register_bytes>::type>;

/// The comparison result that belongs to `batch<T, Arch>`.
template <class T, class Arch>
using batch_bool = xsimd::batch_bool<T, typename detail::Registers<Arch::register_bytes>::type>;

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
inline xsimd::batch<T, A> in_register(const xsimd::batch<T, A>& v);

/// p, computed once: GCC would keep and increment a separate pointer for each number that a loop reads there.
template <class T>
inline T* in_register(T* p) {
#if !defined(TENON_VISUAL_CPP)
  asm("" : "+r"(p));
#endif
  return p;
}

/// The lanes' bits read as lanes of U (the same register width).
template <class U, class T, class A>
inline xsimd::batch<U, A> bits_as(const xsimd::batch<T, A>& v) {
  return std::bit_cast<typename xsimd::batch<U, A>::register_type>(v.data);
}

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/registers.hpp"
#include "tenon/simd/wasm/registers.hpp"
#include "tenon/simd/x86/registers.hpp"

#include "tenon/simd/generic/registers.hpp"
