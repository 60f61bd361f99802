// Arrays of numbers to arrays of another type by the rules of base/convert.hpp, for the pairs of types that
// models cast between.
#pragma once

#include <cstdint>

#include "tenon/base/dtype.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// The serial body, in convert_impl.hpp.
template <class Arch>
bool convert_impl(DType to, void* dst, DType from, const void* src, int64_t n);

/// n elements of type `from` at src converted into n of type `to` at dst, which do not overlap; false, with
/// nothing done, for types that have no loop here.
inline bool convert_elements(DType to, void* dst, DType from, const void* src, int64_t n) {
  return simd::dispatch([=]<class Arch>(Arch) { return convert_impl<Arch>(to, dst, from, src, n); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/elementwise/convert_impl.hpp"
#endif
