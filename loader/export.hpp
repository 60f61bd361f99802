// Graphs as messages.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::loader {

/// As tenon::to_model.
onnx::ModelProto to_model(const Graph& graph, const ExportOptions& options = {});

}  // namespace tenon::loader
