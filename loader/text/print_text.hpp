// Messages in ONNX's textual syntax (github.com/onnx/onnx/blob/main/docs/Syntax.md).
#pragma once

#include <string>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// A message as text, laid out as ONNX's own printer does. parse_text restores everything the syntax can
/// express; raw data is restored as numbers.
///
/// The syntax cannot express sparse tensors, quantisation annotations, training, devices, doc strings and
/// metadata below models and functions, denotations, and tensors without an element type. These are left out,
/// and where a value would be missing the text does not parse. Names of operators, domains and opaque types
/// cannot be quoted: control characters in them become '?'. It keeps more than ONNX's own printer does:
/// packed and complex numbers ("..." there), defaults of a function's attributes, its doc string and value
/// infos, references of no type, and empty lists of strings.
///
/// Error{invalid_model} for a tensor whose raw data does not have the size that its extents require.
std::string print_text(const onnx::ModelProto& model);
std::string print_text(const onnx::GraphProto& graph);
std::string print_text(const onnx::FunctionProto& function);
std::string print_text(const onnx::NodeProto& node);

}  // namespace tenon::TENON_ABI::loader
