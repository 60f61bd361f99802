// Words of ONNX's textual syntax, for its parser and its printer.
#pragma once

#include <string_view>

#include "loader/onnx.pb.h"
#include "tenon/base/dtype.hpp"
#include "tenon/base/platform/overflow.hpp"

namespace tenon::TENON_ABI::loader {

/// The keywords for attribute types, in the order of onnx::AttributeProto::AttributeType.
inline constexpr std::string_view attribute_type_words[] = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph",      "floats",     "ints",
    "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};

constexpr bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool continues_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

/// Whether a name need not be quoted.
constexpr bool is_word(std::string_view name) {
  if (name.empty() || !begins_name(name.front())) return false;
  for (char c : name)
    if (!continues_name(c)) return false;
  return true;
}

/// Whether a word begins a type: "float", "seq".
constexpr bool begins_type(std::string_view word) {
  for (std::string_view kind : {"seq", "map", "optional", "sparse_tensor", "opaque"})
    if (word == kind) return true;
  return dtype_from_name(word) != DType::undefined;
}

/// Whether a word is a number: "inf", "infinity" or "nan", in lower or upper case.
constexpr bool is_number_word(std::string_view word) {
  for (std::string_view number : {"inf", "infinity", "nan"}) {
    bool same = word.size() == number.size();
    for (std::size_t k = 0; same && k < word.size(); ++k) same = (word[k] | 0x20) == number[k];
    if (same) return true;
  }
  return false;
}

/// The number of elements that a tensor's extents imply; negative for invalid extents.
inline int64_t elements_of(const onnx::TensorProto& t) {
  int64_t elements = 1;
  bool none = false;
  for (int64_t d : t.dims()) {
    if (d < 0) return -1;
    if (d == 0) none = true;
    else if (tenon::detail::mul_overflow(elements, d, &elements)) elements = -1;
  }
  return none ? 0 : elements;
}

/// The position of an element among packed ones; the first has the lowest bits.
struct PackedPlace {
  PackedPlace(DType type, int64_t element)
      : byte(element * bits_of(type) / 8), shift(static_cast<int>(element * bits_of(type) % 8)) {}
  int64_t byte;
  int shift;
};
constexpr bool is_signed_packed(DType type) { return type == DType::int4 || type == DType::int2; }

}  // namespace tenon::TENON_ABI::loader
