// Shape inference on model files, which may hold nodes that cannot run here.
#pragma once

#include <functional>

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// Like tenon::infer_shapes.
void infer_shapes(onnx::ModelProto& model, InferOptions options = {});
/// The same, and calls visit(name, info) for each value of the main graph.
using VisitInfo = std::function<void(const std::string& name, const op::Info& info)>;
void infer_shapes(onnx::ModelProto& model, InferOptions options, const VisitInfo& visit);
/// The same. The value infos of functions, whose calls may pass anything, become the types and extents on
/// which all their calls in the model agree.
void infer_functions(onnx::ModelProto& model, InferOptions options = {});

}  // namespace tenon::TENON_ABI::loader
