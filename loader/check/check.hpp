// The checker: whether a model, or a part of one, keeps the rules of ONNX's format and of its operators.
#pragma once

#include "loader/opsets.hpp"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// The versions that a part of a model is checked against; a whole model states its own.
struct Versions {
  int64_t ir_version = onnx::IR_VERSION;
  Opsets opsets{};  ///< empty: the newest of ai.onnx
};

/// All breaches of the rules, in the order of the message. Any message can be checked, even a hostile one:
/// the time is proportional to its size, and nesting beyond 200 levels is an error.
std::vector<Diagnostic> check(const onnx::ModelProto& model, const CheckOptions& options = {});
/// A main graph.
std::vector<Diagnostic> check(const onnx::GraphProto& graph, const CheckOptions& options = {},
                              const Versions& versions = {});
std::vector<Diagnostic> check(const onnx::FunctionProto& function, const CheckOptions& options = {},
                              const Versions& versions = {});
/// A node by itself; any operands are accepted.
std::vector<Diagnostic> check(const onnx::NodeProto& node, const CheckOptions& options = {},
                              const Versions& versions = {});
std::vector<Diagnostic> check(const onnx::AttributeProto& attribute, const CheckOptions& options = {},
                              const Versions& versions = {});
std::vector<Diagnostic> check(const onnx::TensorProto& tensor, const CheckOptions& options = {},
                              const Versions& versions = {});
std::vector<Diagnostic> check(const onnx::SparseTensorProto& tensor, const CheckOptions& options = {},
                              const Versions& versions = {});
/// An input or output of a main graph.
std::vector<Diagnostic> check(const onnx::ValueInfoProto& value, const CheckOptions& options = {},
                              const Versions& versions = {});

}  // namespace tenon::TENON_ABI::loader
