// Merging models, and extracting models from others.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// Like the functions of tenon/model.hpp.
void add_prefix(onnx::ModelProto& model, const std::string& prefix);
onnx::ModelProto merge(const onnx::ModelProto& a, const onnx::ModelProto& b,
                       const MergeOptions& options = {});
onnx::ModelProto extract(const onnx::ModelProto& model, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, const Registry* registry = nullptr);

}  // namespace tenon::TENON_ABI::loader
