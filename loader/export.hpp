// Graphs as messages.
#pragma once

#include <optional>

#include "loader/onnx.pb.h"
#include "tenon/graph/graph.hpp"

namespace tenon::loader {

struct ExportOptions {
  std::optional<int> opset{};           ///< of ai.onnx; default: the newest
  std::optional<int64_t> ir_version{};  ///< 3 or later; default: of the ONNX release that brought the opset
};

/// The model that runs as the graph does: to_model(graph, {.opset = 17}).
///
/// Inputs and outputs keep names, types and extents; other values keep names that are theirs alone and get
/// new ones where they have none. Nodes and constants on which no output depends are left out. Nodes of old
/// versions become nodes of the opset. Operators of domains besides ai.onnx, also of a program's own, are
/// stated as they are; the model imports their domains at the newest version that a node states. An input or
/// output of a rank that nobody knows is written without extents, which runtimes take, and ONNX's own checker
/// does not.
///
/// Error{not_supported} with the node and the reason where the opset, or the IR version, cannot say what a
/// node or a value is. Error{invalid_argument} for an opset or IR version that is none, and where an
/// output has the name of an input that it is not.
onnx::ModelProto to_model(const Graph& graph, const ExportOptions& options = {});

}  // namespace tenon::loader
