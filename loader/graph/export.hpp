// Graphs as messages.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// Like tenon::to_model.
onnx::ModelProto to_model(const Graph& graph, const ExportOptions& options = {});

}  // namespace tenon::TENON_ABI::loader
