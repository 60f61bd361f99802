// The types of values in inference, which may be unknown, and the types that an operator takes.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI::loader {

inline bool known(const Type& type) { return type && type.kind != Kind::unknown; }

/// A value of unknown type and extents.
inline op::Info unknown() {
  op::Info info;
  info.type = Type(Kind::unknown, DType::undefined);
  return info;
}

/// Merges two statements about one value. Error{invalid_model} if they contradict each other.
op::Info merged(const op::Info& declared, const op::Info& inferred, const std::string& place);

/// Whether the operator takes operands of these types.
bool fit(const AnyOperator& op, std::span<const op::Info> in);

struct WrongTypes {
  bool constant = false;  ///< an operand of a wrong type is constant
  /// The type of a type variable's first operand, if it is wrong: results take it.
  std::map<std::string_view, Type> first{};
};
/// Marks operands as unknown if the operator does not take their types, and optional operands, such as zero
/// points, if their type differs from the type of the operand that they belong to. ONNX's inference continues
/// in both cases.
WrongTypes forget_wrong_types(const AnyOperator& op, std::span<op::Info> in);

bool is_optional(const AnyOperator& op, std::size_t input);

/// Whether the operator gives results of these types.
bool permitted(const AnyOperator& op, std::span<const op::Info> results);

}  // namespace tenon::TENON_ABI::loader
