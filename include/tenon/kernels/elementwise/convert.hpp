// Converts arrays of numbers to another type by the rules of base/convert.hpp, for the pairs of types that
// models cast between.
#pragma once

#include <cstdint>

#include "tenon/base/dtype.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// The serial body, in convert_impl.hpp.
template <class Arch>
bool convert_impl(DType to, void* dst, DType from, const void* src, int64_t n);

/// Converts n elements of type `from` at src to type `to` at dst, without overlap; returns false, without
/// effect, for types that have no loop here.
inline bool convert_elements(DType to, void* dst, DType from, const void* src, int64_t n) {
  return simd::dispatch([=]<class Arch>(Arch) { return convert_impl<Arch>(to, dst, from, src, n); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/elementwise/convert_impl.hpp"
#endif
