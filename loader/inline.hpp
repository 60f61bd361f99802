// Calls of functions, the model's own and those that define operators, replaced by the functions' nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loader/onnx.pb.h"

namespace tenon::loader {

/// Functions of all overloads of a name, or an operator.
struct FunctionName {
  std::string domain, name;
};

struct InlineOptions {
  std::optional<std::vector<FunctionName>> only{};  ///< absent: all functions
  std::vector<FunctionName> except{};               ///< these are kept, with the calls of them
  /// Also nodes of operators that ONNX defines by functions are replaced, where function_body gives one;
  /// `only` and `except` hold for them as well.
  bool schema_functions = false;
  /// A function whose operators mean something else at the caller's opsets is kept, and no error.
  bool keep_incompatible = false;
  int64_t max_nodes = 1'000'000;  ///< bounds the nodes that calls become, and the calls
  int64_t max_bytes = 128 << 20;  ///< bounds the size of these nodes
};

/// Replaces calls of the model's functions, in graphs, bodies and functions that stay, by the functions'
/// nodes. Functions that nothing calls any more are removed if they were to be inlined. Values and nodes of a
/// function get names that the caller has not; its value infos come along. A domain that only the function
/// imports is imported by the caller.
///
///     inline_functions(model, {.only = {{{"local", "square"}}}});
///     inline_functions(model, {.only = {{{"", "Softmax"}}}, .schema_functions = true});
///
/// Operators' functions come last, in the place of nodes of all graphs and of functions that stay. What they
/// need to know of types is inferred.
///
/// Error{invalid_model}: functions that call themselves, and calls, attributes or names that fit no function.
/// Error{not_supported}: a function whose operators are others at the opsets of its caller; calls that
/// multiply beyond the bounds. The model is then left in parts.
void inline_functions(onnx::ModelProto& model, const InlineOptions& options = {});

}  // namespace tenon::loader
