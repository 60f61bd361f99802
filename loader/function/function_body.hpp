// The bodies of operators that ONNX defines by functions of other operators.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "loader/onnx.pb.h"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI::loader {

/// A node, and the types of its operands and results as far as they are known: unknown types are null
/// pointers or missing at the end.
struct TypedNode {
  const onnx::NodeProto& node;
  std::span<const onnx::TypeProto* const> inputs{}, outputs{};
};

/// Whether ONNX defines any version of the operator by a function.
bool has_function_body(const onnx::NodeProto& node);

/// A function that gives the same results as a node's operator, at the opsets of the node's model. It has the
/// operator's parameters, and the node's attributes are bound in it. A value that a body of the node captures
/// keeps its name, which no other value of the function has.
///
///     function_body({parse_text<onnx::NodeProto>("y = Softsign (x)")}, {{"", 20}})
///
/// Half precision is computed in float, as operators do. Nothing for operators and opsets that ONNX has no
/// function for, for nodes whose attributes refer to a surrounding function's, and where the function depends
/// on types, ranks or attribute values that are unknown or not allowed.
std::optional<onnx::FunctionProto> function_body(const TypedNode& node, const Opsets& opsets);

/// Whether any version of a node's operator defines a function by its `lower`.
bool lowers(const onnx::NodeProto& node, const Registry& registry);

/// That function, for the node's operands and attributes, with operators of `opsets`. Nothing if types that
/// `lower` needs are unknown, if the opsets cannot express what it adds, and for nodes whose attributes are
/// graphs or refer to a surrounding function's.
std::optional<onnx::FunctionProto> lowered_body(const TypedNode& node, const Opsets& opsets,
                                                const Registry& registry);

}  // namespace tenon::TENON_ABI::loader
