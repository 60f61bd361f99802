// The checker: whether a model, or a part of one, keeps the rules of ONNX's format and of its operators.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "loader/opsets.hpp"

namespace tenon::loader {

enum class Severity : uint8_t {
  warning,  ///< allowed, but no careful writer's work
  error
};

/// One breach of a rule.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string graph;      ///< "main/'if1' (If).then_branch", "function local.f"; "" for the model itself
  std::string node;       ///< "'n' (Add)", or "3 (Add)" by number where it has no name; "" outside of nodes
  std::string_view rule;  ///< a short name: "ssa", "arity", "tensor-data", …
  std::string message;
};
/// "error [ssa] main, node 'n' (Add): output 'y' is defined twice"
std::string to_string(const Diagnostic& d);
bool has_errors(std::span<const Diagnostic> diagnostics);

struct CheckOptions {
  /// Also shape inference, as ONNX's strict mode with checked types, where nothing else is wrong.
  bool full = false;
  /// Functions may import other versions of an operator than the model does.
  bool skip_opset_compatibility = false;
  /// Unknown operators are errors in all domains, not in ONNX's alone.
  bool custom_domains = false;
  /// Also warnings about rules that hardly any model keeps: names are C identifiers, nodes' names are unique,
  /// a model has a domain.
  bool pedantic = false;
  /// Where external data lies: it must be there. Empty: only what the model says of it is looked at.
  std::filesystem::path folder{};
  /// More than these are counted, not kept.
  int max_diagnostics = 1000;

  // What parts of models are checked against; a model says so itself.
  int64_t ir_version = onnx::IR_VERSION;
  Opsets opsets{};  ///< empty: the newest of ai.onnx
};

/// All breaches of the rules, in the order of the message. Any message can be checked, also a hostile one:
/// the time is in proportion to its size, and nesting beyond 200 levels is an error.
std::vector<Diagnostic> check(const onnx::ModelProto& model, const CheckOptions& options = {});
/// A main graph.
std::vector<Diagnostic> check(const onnx::GraphProto& graph, const CheckOptions& options = {});
std::vector<Diagnostic> check(const onnx::FunctionProto& function, const CheckOptions& options = {});
/// A node by itself: its operands may be any.
std::vector<Diagnostic> check(const onnx::NodeProto& node, const CheckOptions& options = {});
std::vector<Diagnostic> check(const onnx::AttributeProto& attribute, const CheckOptions& options = {});
std::vector<Diagnostic> check(const onnx::TensorProto& tensor, const CheckOptions& options = {});
std::vector<Diagnostic> check(const onnx::SparseTensorProto& tensor, const CheckOptions& options = {});
/// An input or output of a main graph.
std::vector<Diagnostic> check(const onnx::ValueInfoProto& value, const CheckOptions& options = {});

}  // namespace tenon::loader
