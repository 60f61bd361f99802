// Element types: the map between C++ types and DType, lists of types, and pointers to elements. types.hpp
// adds the complex types and dispatch from a DType known at run time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "tenon/base/dtype.hpp"
#include "tenon/base/error.hpp"
#include "tenon/base/narrow_float.hpp"
#include "tenon/base/packed_int.hpp"

namespace tenon::TENON_ABI {

namespace detail {

template <class T>
struct DTypeOf {
  static constexpr DType value = DType::undefined;
};

// Complex numbers are known by their form, because <complex> includes the streams of the standard library.
template <class T>
  requires requires(const T& z) {
    { z.real() } -> std::floating_point;
    { z.imag() } -> std::same_as<decltype(z.real())>;
    requires sizeof z == 2 * sizeof z.real();
  }
struct DTypeOf<T> {
  using Part = decltype(std::declval<const T&>().real());
  static constexpr DType value = std::is_same_v<Part, float>    ? DType::complex64
                                 : std::is_same_v<Part, double> ? DType::complex128
                                                                : DType::undefined;
};

}  // namespace detail

/// The C++ type of an element type: `type` in type_of<D>, or cpp_type<D>.
template <DType D>
struct type_of;

#define TENON_ELEMENT_TYPE(Type, D)          \
  template <>                                \
  struct detail::DTypeOf<Type> {             \
    static constexpr DType value = DType::D; \
  };                                         \
  template <>                                \
  struct type_of<DType::D> {                 \
    using type = Type;                       \
  }

TENON_ELEMENT_TYPE(float, float32);
TENON_ELEMENT_TYPE(uint8_t, uint8);
TENON_ELEMENT_TYPE(int8_t, int8);
TENON_ELEMENT_TYPE(uint16_t, uint16);
TENON_ELEMENT_TYPE(int16_t, int16);
TENON_ELEMENT_TYPE(int32_t, int32);
TENON_ELEMENT_TYPE(int64_t, int64);
TENON_ELEMENT_TYPE(std::string, string);
TENON_ELEMENT_TYPE(bool, bool_);
TENON_ELEMENT_TYPE(float16, float16);
TENON_ELEMENT_TYPE(double, float64);
TENON_ELEMENT_TYPE(uint32_t, uint32);
TENON_ELEMENT_TYPE(uint64_t, uint64);
TENON_ELEMENT_TYPE(bfloat16, bfloat16);
TENON_ELEMENT_TYPE(float8e4m3fn, float8e4m3fn);
TENON_ELEMENT_TYPE(float8e4m3fnuz, float8e4m3fnuz);
TENON_ELEMENT_TYPE(float8e5m2, float8e5m2);
TENON_ELEMENT_TYPE(float8e5m2fnuz, float8e5m2fnuz);
TENON_ELEMENT_TYPE(uint4, uint4);
TENON_ELEMENT_TYPE(int4, int4);
TENON_ELEMENT_TYPE(float4e2m1, float4e2m1);
TENON_ELEMENT_TYPE(float8e8m0, float8e8m0);
TENON_ELEMENT_TYPE(uint2, uint2);
TENON_ELEMENT_TYPE(int2, int2);
#undef TENON_ELEMENT_TYPE

template <DType D>
using cpp_type = typename type_of<D>::type;

/// The DType of T; DType::undefined when T is no element type.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::value;

/// One of the 26 element types, without const.
template <class T>
concept Element = dtype_of<T> != DType::undefined;

/// ONNX's number of T, as attributes name element types: op::Cast{.to = dtype<float16>}.
template <Element T>
inline constexpr int64_t dtype = static_cast<int64_t>(dtype_of<T>);

/// A narrow float, packed or not: one of the types of narrow_float.hpp.
template <class T>
concept NarrowFloatElement = Element<T> && is_float(dtype_of<T>) && !std::is_floating_point_v<T>;

/// The type in which kernels compute elements of type T: float for every narrow float, else T.
template <class T>
using compute_t = std::conditional_t<NarrowFloatElement<T>, float, T>;
constexpr DType compute_dtype(DType d) { return is_float(d) && bits_of(d) < 32 ? DType::float32 : d; }

#ifdef TENON_ELEMENT_TYPES  // the types of a header that `tenon compile` writes, which has no strings
constexpr bool is_string(DType) { return false; }
#else
constexpr bool is_string(DType d) { return d == DType::string; }
#endif

template <class... Ts>
struct TypeList {
  static constexpr int size = sizeof...(Ts);

  template <class T>
  static constexpr bool contains = (std::is_same_v<T, Ts> || ...);
  static constexpr bool has(DType d) { return ((d == dtype_of<Ts>) || ...); }
};

namespace detail {

template <class T>
struct ElementPointer {
  using pointer = T*;
  using reference = T&;
};
template <PackedElement T>
struct ElementPointer<T> {
  using pointer = PackedPtr<T>;
  using reference = PackedRef<T>;
};

}  // namespace detail

/// T*, or PackedPtr<T> for a packed type. T may be const.
template <class T>
using element_pointer_t = typename detail::ElementPointer<T>::pointer;

/// T&, or PackedRef<T> for a packed type. T may be const.
template <class T>
using element_reference_t = typename detail::ElementPointer<T>::reference;

/// The start of an array of T in raw memory, as an element pointer.
template <class T>
element_pointer_t<T> element_pointer(void* data) {
  if constexpr (PackedElement<T>) return element_pointer_t<T>(data);
  else return static_cast<T*>(data);
}
template <class T>
element_pointer_t<const T> element_pointer(const void* data) {
  if constexpr (PackedElement<T>) return element_pointer_t<const T>(data);
  else return static_cast<const T*>(data);
}

/// Reads and writes element i of the array at a T* or a PackedPtr.
template <class T>
constexpr T load_element(const T* p, int64_t i) {
  return p[i];
}
template <PackedElement T>
constexpr std::remove_const_t<T> load_element(PackedPtr<T> p, int64_t i) {
  return p[i];
}
template <class T>
constexpr void store_element(T* p, int64_t i, std::type_identity_t<T> value) {
  p[i] = static_cast<T&&>(value);
}
template <PackedElement T>
constexpr void store_element(PackedPtr<T> p, int64_t i, std::type_identity_t<T> value) {
  p[i] = value;
}

/// Bytes of an array of n >= 0 elements of d, a partly filled last byte included; strings count as
/// std::string objects.
/// @throws Error{invalid_shape} when an array cannot have that many.
constexpr int64_t packed_bytes(int64_t n, DType d) {
  const int per_byte = is_packed(d) ? 8 / bits_of(d) : 1;
  const int64_t each = d == DType::string ? static_cast<int64_t>(sizeof(std::string))
                       : is_packed(d)     ? 1
                                          : bits_of(d) / 8;
  const int64_t units = n / per_byte + (n % per_byte != 0);
  if (each != 0 && units > std::numeric_limits<std::ptrdiff_t>::max() / each) {
    raise(ErrorCode::invalid_shape, "", n, " elements of ", name_of(d), " overflow the address space");
  }
  return units * each;
}

}  // namespace tenon::TENON_ABI
