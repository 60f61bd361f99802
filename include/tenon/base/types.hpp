// The complex element types, and dispatch from a DType known at run time to a type.
#pragma once

#include <complex>

#include "tenon/base/element.hpp"

namespace tenon::TENON_ABI {

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

template <>
struct type_of<DType::complex64> {
  using type = complex64;
};
template <>
struct type_of<DType::complex128> {
  using type = complex128;
};

/// The types of elements. Calls whose element type is known only at run time are compiled for each.
#ifdef TENON_ELEMENT_TYPES  // by a header that `tenon compile` writes: its model's types, except strings
using all_types = TypeList<TENON_ELEMENT_TYPES>;
#else
using all_types =
    TypeList<float, uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t, std::string, bool, float16, double,
             uint32_t, uint64_t, complex64, complex128, bfloat16, float8e4m3fn, float8e4m3fnuz, float8e5m2,
             float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2>;
#endif

/// Calls `f.template operator()<T>()` for the T among Ts whose DType is d. Returns false, without a call, if
/// there is none.
template <class... Ts, class F>
constexpr bool visit_types([[maybe_unused]] DType d, [[maybe_unused]] F&& f) {
  return ((d == dtype_of<Ts> && (static_cast<void>(f.template operator()<Ts>()), true)) || ...);
}

template <class... Ts, class F>
constexpr bool visit_types(TypeList<Ts...>, DType d, F&& f) {
  return visit_types<Ts...>(d, f);
}

/// Calls `f.template operator()<T>()` for the T of d, one of the 26.
/// @throws Error{invalid_type} when d is undefined.
template <class F>
constexpr void visit_dtype(DType d, F&& f) {
  if (!visit_types(all_types{}, d, f)) raise(ErrorCode::invalid_type, "dtype", "undefined element type");
}

}  // namespace tenon::TENON_ABI
