// DType: ONNX's element types under ONNX's own numbers (TensorProto.DataType), with their names and sizes.
#pragma once

#include "tenon/base/version.hpp"

#include <cstdint>
#include <string_view>

namespace tenon::TENON_ABI {

enum class DType : uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  bool_ = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

inline constexpr int dtype_count = 27;

namespace detail {

enum class DTypeKind : uint8_t { none, boolean, unsigned_integer, signed_integer, floating, complex, text };

struct DTypeRow {
  std::string_view name;  // as inside of tensor(...)
  uint8_t bits;           // of one element in a packed array
  DTypeKind kind;
};

inline constexpr DTypeRow dtype_rows[dtype_count] = {
    {"undefined", 0, DTypeKind::none},
    {"float", 32, DTypeKind::floating},
    {"uint8", 8, DTypeKind::unsigned_integer},
    {"int8", 8, DTypeKind::signed_integer},
    {"uint16", 16, DTypeKind::unsigned_integer},
    {"int16", 16, DTypeKind::signed_integer},
    {"int32", 32, DTypeKind::signed_integer},
    {"int64", 64, DTypeKind::signed_integer},
    {"string", 0, DTypeKind::text},
    {"bool", 8, DTypeKind::boolean},
    {"float16", 16, DTypeKind::floating},
    {"double", 64, DTypeKind::floating},
    {"uint32", 32, DTypeKind::unsigned_integer},
    {"uint64", 64, DTypeKind::unsigned_integer},
    {"complex64", 64, DTypeKind::complex},
    {"complex128", 128, DTypeKind::complex},
    {"bfloat16", 16, DTypeKind::floating},
    {"float8e4m3fn", 8, DTypeKind::floating},
    {"float8e4m3fnuz", 8, DTypeKind::floating},
    {"float8e5m2", 8, DTypeKind::floating},
    {"float8e5m2fnuz", 8, DTypeKind::floating},
    {"uint4", 4, DTypeKind::unsigned_integer},
    {"int4", 4, DTypeKind::signed_integer},
    {"float4e2m1", 4, DTypeKind::floating},
    {"float8e8m0", 8, DTypeKind::floating},
    {"uint2", 2, DTypeKind::unsigned_integer},
    {"int2", 2, DTypeKind::signed_integer},
};

// An invalid number from a file reads as undefined.
constexpr const DTypeRow& dtype_row(DType d) {
  const auto i = static_cast<uint8_t>(d);
  return dtype_rows[i < dtype_count ? i : 0];
}

}  // namespace detail

/// ONNX's spelling of the type inside of tensor(...): "float", "double", "int4", "bool".
constexpr std::string_view name_of(DType d) { return detail::dtype_row(d).name; }

/// The type that `name` spells, or DType::undefined when none does.
constexpr DType dtype_from_name(std::string_view name) {
  for (int i = 1; i < dtype_count; ++i) {
    if (detail::dtype_rows[i].name == name) return static_cast<DType>(i);
  }
  return DType::undefined;
}

/// The type with ONNX's number `value`, or DType::undefined when there is none.
constexpr DType dtype_from_onnx(int64_t value) {
  return value > 0 && value < dtype_count ? static_cast<DType>(value) : DType::undefined;
}

/// Bits of one element in an array; 0 for string and undefined.
constexpr int bits_of(DType d) { return detail::dtype_row(d).bits; }

/// Whether several elements share a byte.
constexpr bool is_packed(DType d) { return bits_of(d) > 0 && bits_of(d) < 8; }

/// Whether it is one of the real floating-point types, narrow ones included.
constexpr bool is_float(DType d) { return detail::dtype_row(d).kind == detail::DTypeKind::floating; }

constexpr bool is_complex(DType d) { return detail::dtype_row(d).kind == detail::DTypeKind::complex; }

/// Whether it is one of the integer types, packed ones included; bool is not.
constexpr bool is_integer(DType d) {
  const auto kind = detail::dtype_row(d).kind;
  return kind == detail::DTypeKind::signed_integer || kind == detail::DTypeKind::unsigned_integer;
}

/// Whether it holds negative numbers.
constexpr bool is_signed(DType d) {
  const auto kind = detail::dtype_row(d).kind;
  return kind == detail::DTypeKind::signed_integer || kind == detail::DTypeKind::complex ||
         (kind == detail::DTypeKind::floating && d != DType::float8e8m0);
}

}  // namespace tenon::TENON_ABI
