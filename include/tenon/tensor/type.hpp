// The type of a value as ONNX names it: tensor(float), seq(tensor(int64)), map(string,tensor(float)), …
#pragma once

#include "tenon/base/element.hpp"
#include "tenon/base/inline_vector.hpp"

namespace tenon::TENON_ABI {

/// `none` is no value at all, `unknown` a value of which nothing is known.
enum class Kind : uint8_t {
  none,
  tensor,
  sequence,
  optional,
  optional_sequence,
  sparse_tensor,
  map,
  sequence_map,
  opaque,
  unknown
};

/// The kind of a value and its element type; for maps the key's and the value's types. The name of an opaque
/// type is stored in the value only.
struct Type {
  Kind kind = Kind::none;
  DType element = DType::undefined;
  DType key = DType::undefined;

  constexpr Type() = default;
  constexpr Type(DType tensor_of) : kind(Kind::tensor), element(tensor_of) {}
  constexpr Type(Kind k, DType e, DType map_key = DType::undefined) : kind(k), element(e), key(map_key) {}
  constexpr bool operator==(const Type&) const = default;
  constexpr explicit operator bool() const { return kind != Kind::none; }
};

/// As ONNX writes it: "seq(tensor(int64))".
inline std::string to_string(Type t) {
  const std::string tensor = str_cat("tensor(", name_of(t.element), ")");
  switch (t.kind) {
    case Kind::none: return "none";
    case Kind::unknown: return "unknown";
    case Kind::tensor: return tensor;
    case Kind::sequence: return str_cat("seq(", tensor, ")");
    case Kind::optional: return str_cat("optional(", tensor, ")");
    case Kind::optional_sequence: return str_cat("optional(seq(", tensor, "))");
    case Kind::sparse_tensor: return str_cat("sparse_tensor(", name_of(t.element), ")");
    case Kind::map: return str_cat("map(", name_of(t.key), ",", tensor, ")");
    case Kind::sequence_map: return str_cat("seq(map(", name_of(t.key), ",", tensor, "))");
    case Kind::opaque: return "opaque";
  }
  return "none";
}

/// A set of types: what a type variable of an operator permits.
struct TypeSet {
  // One bit per element type (bit = DType's number). Maps: keys are int64 or string; bit = DType of the
  // value.
  uint32_t tensor = 0, sequence = 0, optional = 0, optional_sequence = 0, sparse_tensor = 0;
  uint32_t map_int64 = 0, map_string = 0, sequence_map_int64 = 0, sequence_map_string = 0;
  uint32_t opaque = 0;  // 1: any opaque type

  constexpr bool operator==(const TypeSet&) const = default;
  friend constexpr TypeSet operator|(TypeSet a, TypeSet b) {
    return {a.tensor | b.tensor,
            a.sequence | b.sequence,
            a.optional | b.optional,
            a.optional_sequence | b.optional_sequence,
            a.sparse_tensor | b.sparse_tensor,
            a.map_int64 | b.map_int64,
            a.map_string | b.map_string,
            a.sequence_map_int64 | b.sequence_map_int64,
            a.sequence_map_string | b.sequence_map_string,
            a.opaque | b.opaque};
  }
  constexpr uint32_t elements(Kind kind, DType key = DType::undefined) const {
    switch (kind) {
      case Kind::none:
      case Kind::unknown: return 0;
      case Kind::tensor: return tensor;
      case Kind::sequence: return sequence;
      case Kind::optional: return optional;
      case Kind::optional_sequence: return optional_sequence;
      case Kind::sparse_tensor: return sparse_tensor;
      case Kind::map: return key == DType::string ? map_string : map_int64;
      case Kind::sequence_map: return key == DType::string ? sequence_map_string : sequence_map_int64;
      case Kind::opaque: return opaque;
    }
    return 0;
  }
  constexpr bool contains(Type t) const { return elements(t.kind, t.key) >> static_cast<int>(t.element) & 1; }
  constexpr bool tensors_only() const { return *this == TypeSet{.tensor = tensor}; }
  /// The one type in the set, or none when there are several.
  constexpr Type single() const {
    if (!tensors_only() || (tensor & (tensor - 1)) != 0) return {};
    for (int d = 1; d <= 26; ++d)
      if (tensor == 1u << d) return static_cast<DType>(d);
    return {};
  }
};

/// tensor(...) of each of these.
constexpr TypeSet tensor(std::initializer_list<DType> elements) {
  TypeSet s;
  for (DType d : elements) s.tensor |= 1u << static_cast<int>(d);
  return s;
}
/// seq(…), optional(…) and sparse_tensor(…) of each type in a set, and every opaque type.
constexpr TypeSet seq(TypeSet tensors) { return {.sequence = tensors.tensor}; }
constexpr TypeSet optional_of(TypeSet s) { return {.optional = s.tensor, .optional_sequence = s.sequence}; }
constexpr TypeSet sparse(TypeSet tensors) { return {.sparse_tensor = tensors.tensor}; }
constexpr TypeSet opaque() { return {.opaque = 1}; }

// Sets that many operators share. `irN` is what ONNX called all tensor types at that IR version.
namespace types {
inline constexpr TypeSet float16 = tensor({DType::float16}), float32 = tensor({DType::float32}),
                         float64 = tensor({DType::float64}), bfloat16 = tensor({DType::bfloat16}),
                         int8 = tensor({DType::int8}), int16 = tensor({DType::int16}),
                         int32 = tensor({DType::int32}), int64 = tensor({DType::int64}),
                         uint8 = tensor({DType::uint8}), uint16 = tensor({DType::uint16}),
                         uint32 = tensor({DType::uint32}), uint64 = tensor({DType::uint64}),
                         boolean = tensor({DType::bool_}), string = tensor({DType::string}),
                         complex64 = tensor({DType::complex64}), complex128 = tensor({DType::complex128});
inline constexpr TypeSet floats = float16 | float32 | float64;
inline constexpr TypeSet floats_bf16 = floats | bfloat16;
inline constexpr TypeSet signed_integers = int8 | int16 | int32 | int64;
inline constexpr TypeSet unsigned_integers = uint8 | uint16 | uint32 | uint64;
inline constexpr TypeSet integers = signed_integers | unsigned_integers;
inline constexpr TypeSet numeric = floats | integers;
inline constexpr TypeSet numeric_bf16 = numeric | bfloat16;
inline constexpr TypeSet wide_numeric = floats | int32 | int64 | uint32 | uint64;  // "high precision" in ONNX
inline constexpr TypeSet wide_numeric_bf16 = wide_numeric | bfloat16;
inline constexpr TypeSet complexes = complex64 | complex128;
inline constexpr TypeSet indices = int32 | int64;
inline constexpr TypeSet int4s = tensor({DType::uint4, DType::int4});
inline constexpr TypeSet int2s = tensor({DType::uint2, DType::int2});
inline constexpr TypeSet float8s =
    tensor({DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz});
inline constexpr TypeSet float8e8m0 = tensor({DType::float8e8m0});
inline constexpr TypeSet float4s = tensor({DType::float4e2m1});
inline constexpr TypeSet all = numeric | complexes | boolean | string;
inline constexpr TypeSet all_ir4 = all | bfloat16;
inline constexpr TypeSet all_ir9 = all_ir4 | float8s;
inline constexpr TypeSet all_ir10 = all_ir9 | int4s;
inline constexpr TypeSet all_ir11 = all_ir10 | float4s;
inline constexpr TypeSet all_ir12 = all_ir11 | float8e8m0;
inline constexpr TypeSet all_ir13 = all_ir12 | int2s;
}  // namespace types

/// The C++ types of types::floats_bf16, and of types::numeric_bf16.
using float_types = TypeList<float, double, float16, bfloat16>;
using number_types = TypeList<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                              uint16_t, uint32_t, uint64_t>;

}  // namespace tenon::TENON_ABI
